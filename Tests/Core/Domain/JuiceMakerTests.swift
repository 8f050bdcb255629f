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

    @Test func everyShortFruitIsNamedInTheOrderOfTheRecipe() throws {
        let juice = try #require(maker.menu.juiceIndex(id: "mangoKiwi"))
        var store = try FruitStore(levels: [10, 10, 10, 0, 1])
        #expect(shortages(of: order(juice, 1), &store) == ["4: 1 of 2", "3: 0 of 1"])
        #expect(shortages(of: order(juice, 100), &store) == ["4: 1 of 200", "3: 0 of 100"])
        #expect(store.levels == [10, 10, 10, 0, 1])
    }

    @Test func aNewStoreCannotMakeStrawberryJuice() {
        var store = FruitStore(menu: .standard)
        #expect(shortages(of: order(0, 1), &store) == ["0: 10 of 16"])
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

    @Test func itemsOfOneJuiceAreAddedUpWhereItIsFirstNamed() {
        var items: [OrderItem] = []
        for (juice, quantity) in [(2, 1), (4, 100), (2, 5), (6, 1), (4, 100)] {
            items.add(OrderItem(juice: juice, quantity: quantity))
        }
        #expect(items == [OrderItem(juice: 2, quantity: 6), OrderItem(juice: 4, quantity: 200), OrderItem(juice: 6, quantity: 1)])
    }

    /// Random orders and cancels, compared with sums that use no tally.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func randomOrdersTakeAndReturnWhatAModelSays(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var model = maker.menu.fruits.map { _ in 300 }
        var store = try FruitStore(levels: model)
        var tally = FruitTally()
        var made: [JuiceOrder] = []
        var outcomes: [JuiceMaker.Outcome: Int] = [:]
        for _ in 0..<2_000 {
            if random.number(0...2) == 0, !made.isEmpty {
                let order = made.remove(at: random.number(0...made.count - 1))
                maker.count(order, &tally)
                try store.putBack(&tally)
                for (fruit, amount) in needed(by: order) { model[fruit] += amount }
            } else {
                let order = randomOrder(&random)
                let needed = needed(by: order)
                let isEnough = needed.allSatisfy { model[$0] >= $1 }
                let outcome = maker.make(order, from: &store, &tally)
                #expect(outcome == (isEnough ? .made : .outOfStock))
                outcomes[outcome, default: 0] += 1
                if isEnough {
                    for (fruit, amount) in needed { model[fruit] -= amount }
                    made.append(order)
                }
            }
            #expect(store.levels == model)
        }
        #expect(outcomes[.made, default: 0] > 300)
        #expect(outcomes[.outOfStock, default: 0] > 100)
    }

    private func needed(by order: JuiceOrder) -> [Int: Int] {
        order.items.reduce(into: [:]) { needed, item in
            for ingredient in maker.menu.juices[item.juice].recipe {
                needed[ingredient.fruit, default: 0] += ingredient.amount * item.quantity
            }
        }
    }

    private func randomOrder(_ random: inout SeededGenerator) -> JuiceOrder {
        let juices = maker.menu.juices.indices.shuffled(using: &random)
        let count = random.number(0...juices.count)
        let items = juices.prefix(max(1, count)).map { OrderItem(juice: $0, quantity: random.number(1...4)) }
        return count == 0 ? .single(items[0]) : .basket(items)
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
