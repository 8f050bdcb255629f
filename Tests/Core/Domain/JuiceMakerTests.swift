import JuiceDomain
import Testing

/// ``OracleTests`` compares what orders of any menu take with a second implementation. This is beyond its amounts.
@Suite struct JuiceMakerTests {
    @Test func theLargestRecipesTimesTheLargestQuantityFit() throws {
        let (name, largest) = (LocalizedName(english: "a", korean: "a"), FruitStore.maximumLevel)
        let juices = (0..<JuiceOrder.mostItems).map { JuiceSpec(id: "\($0)", name: name, recipe: [("a", largest)]) }
        let maker = JuiceMaker(menu: try Menu(fruits: [Fruit(id: "a", name: name)], juices: juices))
        var store = try FruitStore(levels: [largest])
        func needed(_ order: JuiceOrder) -> Int? {
            var tally = FruitTally()
            return maker.make(order, from: &store, &tally) == .made ? nil : tally[0].amount
        }
        func items(_ quantity: Int) -> [OrderItem] { juices.indices.map { OrderItem(juice: $0, quantity: quantity) } }
        #expect(needed(.single(items(100)[0])) == 100_000_000_000)
        #expect(needed(.basket(items(100))) == 2_000_000_000_000)
        #expect(store.levels == [largest])
        #expect(needed(.single(items(1)[0])) == nil)
        #expect(store.levels == [0])
    }
}
