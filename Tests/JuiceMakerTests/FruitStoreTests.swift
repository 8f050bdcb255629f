import JuiceMaker
import Testing

@Suite struct FruitStoreTests {
    @Test func aNewStoreHasTheInitialStock() throws {
        let fruits = [3, 0, 1_000_000_000].enumerated().map { index, stock in
            let name = LocalizedName(english: "f", korean: "f")
            return Fruit(id: "\(index)", name: name, initialStock: stock)
        }
        let juice = JuiceSpec(id: "j", name: LocalizedName(english: "j", korean: "j"), recipe: ["0": 1])
        let store = FruitStore(menu: try Menu(fruits: fruits, juices: [juice]))
        #expect(store.levels == [3, 0, 1_000_000_000])
        #expect(store.fruitCount == 3)
        #expect(store[2] == 1_000_000_000)
    }

    @Test(arguments: [-1, 1_000_000_001, .min, .max])
    func aLevelOutOfRangeIsRefused(level: Int) {
        let error = #expect(throws: FruitStore.LevelOutOfRange.self) { try FruitStore(levels: [0, level]) }
        #expect(error?.fruit == 1)
        #expect(error?.level == level)
    }
}
