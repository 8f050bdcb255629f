import JuiceMaker
import Testing

@Suite struct JuiceMakerTests {
    let maker = JuiceMaker(menu: .standard)

    @Test(arguments: Menu.standard.juices.indices, [1, 2, 100])
    func exactlyEnoughFruitIsEnough(juice: Int, quantity: Int) throws {
        var store = try FruitStore(levels: exactLevels(juice, quantity, others: 7))
        var tally = FruitTally()
        #expect(maker.make(order(juice, quantity), from: &store, &tally) == .made)
        let recipe = maker.menu.juices[juice].recipe
        #expect(tally.lines.map(\.fruit) == recipe.map(\.fruit))
        #expect(tally.lines.map(\.amount) == recipe.map { $0.amount * quantity })
        #expect(tally.lines.allSatisfy { $0.level == 0 })
        for fruit in maker.menu.fruits.indices { #expect(store[fruit] == (recipe.contains { $0.fruit == fruit } ? 0 : 7)) }
    }

    @Test(arguments: Menu.standard.juices.indices, [1, 2, 100])
    func oneFruitTooFewTakesNothing(juice: Int, quantity: Int) throws {
        for ingredient in maker.menu.juices[juice].recipe {
            var levels = exactLevels(juice, quantity, others: 0)
            levels[ingredient.fruit] -= 1
            var store = try FruitStore(levels: levels)

            let needed = ingredient.amount * quantity
            let shortages = shortages(making: juice, quantity, from: &store)
            #expect(shortages == ["\(ingredient.fruit): \(needed - 1) of \(needed)"])
            #expect(store.levels == levels)
        }
    }

    @Test func everyShortFruitIsNamedInTheOrderOfTheRecipe() throws {
        let juice = try #require(maker.menu.juiceIndex(id: "mangoKiwi"))
        var store = try FruitStore(levels: [10, 10, 10, 0, 1])
        #expect(shortages(making: juice, 1, from: &store) == ["4: 1 of 2", "3: 0 of 1"])
        #expect(shortages(making: juice, 100, from: &store) == ["4: 1 of 200", "3: 0 of 100"])
        #expect(store.levels == [10, 10, 10, 0, 1])
    }

    @Test func aNewStoreCannotMakeStrawberryJuice() {
        var store = FruitStore(menu: .standard)
        #expect(shortages(making: 0, 1, from: &store) == ["0: 10 of 16"])
    }

    @Test func theLargestRecipeTimesTheLargestQuantityFits() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "a", name: LocalizedName(english: "a", korean: "a"))],
            juices: [JuiceSpec(id: "a", name: LocalizedName(english: "a", korean: "a"), recipe: ["a": FruitStore.maximumLevel])])
        var store = try FruitStore(levels: [FruitStore.maximumLevel])
        let maker = JuiceMaker(menu: menu)
        #expect(shortages(making: 0, 100, from: &store, by: maker) == ["0: 1000000000 of 100000000000"])
        #expect(shortages(making: 0, 1, from: &store, by: maker) == nil)
        #expect(store.levels == [0])
    }

    // What the recipe takes of its fruits, and `others` of the rest.
    private func exactLevels(_ juice: Int, _ quantity: Int, others: Int) -> [Int] {
        var levels = Array(repeating: others, count: maker.menu.fruits.count)
        for ingredient in maker.menu.juices[juice].recipe { levels[ingredient.fruit] = ingredient.amount * quantity }
        return levels
    }

    private func order(_ juice: Int, _ quantity: Int) -> JuiceOrder {
        .single(OrderItem(juice: juice, quantity: quantity))
    }

    /// The fruits that are short if the juices cannot be made; nil if they are made.
    private func shortages(
        making juice: Int, _ quantity: Int, from store: inout FruitStore, by maker: JuiceMaker = JuiceMaker(menu: .standard)
    ) -> [String]? {
        var tally = FruitTally()
        guard maker.make(order(juice, quantity), from: &store, &tally) == .outOfStock else { return nil }
        return tally.lines.filter(\.isShort).map { "\($0.fruit): \($0.level) of \($0.amount)" }
    }
}
