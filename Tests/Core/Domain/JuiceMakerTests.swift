import JuiceDomain
import Testing

@Suite struct JuiceMakerTests {
    let maker = JuiceMaker(menu: .standard)

    @Test(arguments: Menu.standard.juices.indices, [1, 2, 100])
    func exactlyEnoughFruitIsEnough(juice: Int, quantity: Int) throws {
        var store = try FruitStore(levels: exactLevels(juice, quantity, others: 7))
        var tally = FruitTally()
        #expect(maker.make(order(juice, quantity), from: &store, &tally) == .made)
        let recipe = maker.menu.juices[juice].recipe
        #expect(tally.lines == recipe.map { FruitTally.Line(fruit: $0.fruit, amount: $0.amount * quantity, level: 0) })
        for fruit in maker.menu.fruits.indices { #expect(store[fruit] == (recipe.contains { $0.fruit == fruit } ? 0 : 7)) }
    }

    @Test(arguments: Menu.standard.juices.indices, [1, 2, 100])
    func oneFruitTooFewTakesNothing(juice: Int, quantity: Int) throws {
        for ingredient in maker.menu.juices[juice].recipe {
            var levels = exactLevels(juice, quantity, others: 0)
            levels[ingredient.fruit] -= 1
            var store = try FruitStore(levels: levels)
            let needed = ingredient.amount * quantity
            #expect(shortages(of: order(juice, quantity), &store) == ["\(ingredient.fruit): \(needed - 1) of \(needed)"])
            #expect(store.levels == levels)
        }
    }

    @Test func theLargestRecipesTimesTheLargestQuantityFit() throws {
        let name = LocalizedName(english: "a", korean: "a")
        let largest = FruitStore.maximumLevel
        let juices = (0..<JuiceOrder.mostItems).map { JuiceSpec(id: "\($0)", name: name, recipe: [("a", largest)]) }
        let maker = JuiceMaker(menu: try Menu(fruits: [Fruit(id: "a", name: name)], juices: juices))
        var store = try FruitStore(levels: [largest])
        #expect(shortages(of: order(0, 100), &store, by: maker) == ["0: 1000000000 of 100000000000"])
        #expect(shortages(of: basket(juices.indices.map { ($0, 100) }), &store, by: maker) == ["0: 1000000000 of 2000000000000"])
        #expect(store.levels == [largest])
        #expect(shortages(of: order(0, 1), &store, by: maker) == nil)
        #expect(store.levels == [0])
    }

    // MARK: - Baskets

    /// What a basket needs, as `fruit: amount`, in the order of its recipes, and what is left.
    @Test(
        arguments: [
            // The fruits of all items are added up, and each fruit is listed where it is first named.
            ([(2, 2), (4, 1)], ["3: 6", "0: 10", "1: 1"], [0, 9, 10, 4, 10]),
            ([(4, 1), (2, 2)], ["0: 10", "1: 1", "3: 6"], [0, 9, 10, 4, 10]),
            ([(6, 2), (2, 2)], ["4: 4", "3: 8"], [10, 10, 10, 2, 6]),
            ([(2, 2), (6, 2)], ["3: 8", "4: 4"], [10, 10, 10, 2, 6]),
            ([(1, 5)], ["1: 10"], [10, 0, 10, 10, 10]),
            ([(1, 4), (4, 1)], ["1: 9", "0: 10"], [0, 1, 10, 10, 10]),
        ] as [([(Int, Int)], [String], [Int])]
    )
    func aBasketTakesTheFruitsOfAllItsItems(items: [(Int, Int)], needed: [String], left: [Int]) {
        var store = FruitStore(menu: .standard)
        var tally = FruitTally()
        #expect(maker.make(basket(items), from: &store, &tally) == .made)
        #expect(tally.lines.map { "\($0.fruit): \($0.amount)" } == needed)
        #expect(store.levels == left)
        #expect(tally.lines.allSatisfy { $0.level == left[$0.fruit] })
    }

    /// Each item alone could be made of 10 of each fruit.
    @Test(
        arguments: [
            ([(2, 3), (6, 2)], ["3: 10 of 11"]), ([(6, 3), (5, 2), (2, 3)], ["4: 10 of 12", "3: 10 of 12"]),
            ([(1, 5), (4, 1)], ["1: 10 of 11"]),
        ] as [([(Int, Int)], [String])]
    )
    func sumsShortagesAcrossItems(items: [(Int, Int)], lacking: [String]) {
        for item in items {
            var store = FruitStore(menu: .standard)
            #expect(shortages(of: basket([item]), &store) == nil)
        }
        var store = FruitStore(menu: .standard)
        #expect(shortages(of: basket(items), &store) == lacking)
        #expect(store == FruitStore(menu: .standard))
    }

    // MARK: - Helpers

    // What the recipe takes of its fruits, and `others` of the rest.
    private func exactLevels(_ juice: Int, _ quantity: Int, others: Int) -> [Int] {
        var levels = Array(repeating: others, count: maker.menu.fruits.count)
        for ingredient in maker.menu.juices[juice].recipe { levels[ingredient.fruit] = ingredient.amount * quantity }
        return levels
    }

    private func order(_ juice: Int, _ quantity: Int) -> JuiceOrder { .single(OrderItem(juice: juice, quantity: quantity)) }

    private func basket(_ items: [(juice: Int, quantity: Int)]) -> JuiceOrder {
        .basket(items.map { OrderItem(juice: $0.juice, quantity: $0.quantity) })
    }

    /// The fruits that are short if an order cannot be made; nil if it is made.
    private func shortages(
        of order: JuiceOrder, _ store: inout FruitStore, by maker: JuiceMaker = JuiceMaker(menu: .standard)
    ) -> [String]? {
        var tally = FruitTally()
        guard maker.make(order, from: &store, &tally) == .outOfStock else { return nil }
        return tally.lines.filter(\.isShort).map { "\($0.fruit): \($0.level) of \($0.amount)" }
    }
}
