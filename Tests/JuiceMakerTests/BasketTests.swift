import JuiceMaker
import SeededRandom
import Testing

/// Orders of several juices: made by the sum of their recipes, and taken back as a whole.
@Suite struct BasketTests {
    private let maker = JuiceMaker(menu: .standard)

    private func basket(_ items: [(juice: String, quantity: Int)]) throws -> JuiceOrder {
        var basket: [OrderItem] = []
        for item in items {
            let juice = try #require(maker.menu.juiceIndex(id: item.juice))
            basket.add(OrderItem(juice: juice, quantity: item.quantity))
        }
        return .basket(basket)
    }

    private func lines(_ tally: FruitTally) -> [FruitTally.Line] { (0..<tally.count).map { tally[$0] } }

    /// `kiwi 6 of 10`: what is needed, and what there is.
    private func summary(_ tally: FruitTally) -> [String] {
        lines(tally).map { "\(maker.menu.fruits[$0.fruit].id) \($0.amount) of \($0.level)" }
    }

    @Test func itemsOfAJuiceAreAddedUpInThePlaceOfTheFirst() throws {
        let basket = try basket([("kiwi", 2), ("mango", 1), ("kiwi", 100), ("mango", 3), ("banana", 1)])
        let items = [(2, 102), (5, 4), (1, 1)].map { OrderItem(juice: $0.0, quantity: $0.1) }
        #expect(basket == .basket(items))
        #expect(basket.items == items)
        #expect(JuiceOrder.single(items[0]).items == [items[0]])
    }

    @Test(
        arguments: [
            ([("kiwi", 2), ("strawberryBanana", 1)], ["kiwi 6 of 4", "strawberry 10 of 0", "banana 1 of 9"]),
            // A fruit of several juices is added up where it is named first.
            ([("mangoKiwi", 2), ("kiwi", 2)], ["mango 4 of 6", "kiwi 8 of 2"]),
            ([("kiwi", 2), ("mangoKiwi", 2)], ["kiwi 8 of 2", "mango 4 of 6"]),
            ([("mango", 2), ("mangoKiwi", 2)], ["mango 10 of 0", "kiwi 2 of 8"]),
            ([("banana", 1)], ["banana 2 of 8"]),
        ] as [([(String, Int)], [String])]
    )
    func aBasketTakesTheSumOfItsRecipes(items: [(String, Int)], taken: [String]) throws {
        var (store, tally) = (FruitStore(menu: .standard), FruitTally())
        #expect(maker.make(try basket(items), from: &store, &tally) == .made)
        #expect(summary(tally) == taken)
        for line in lines(tally) { #expect(store[line.fruit] == line.level) }
    }

    /// Each juice alone could be made.
    @Test(
        arguments: [
            ([("mango", 2), ("mangoKiwi", 3)], ["mango 12 of 10", "kiwi 3 of 10"]),
            ([("strawberryBanana", 1), ("banana", 5)], ["strawberry 10 of 10", "banana 11 of 10"]),
            ([("kiwi", 1), ("strawberry", 1)], ["kiwi 3 of 10", "strawberry 16 of 10"]),
        ] as [([(String, Int)], [String])]
    )
    func aBasketThatTheSumIsTooMuchForTakesNothing(items: [(String, Int)], needed: [String]) throws {
        var (store, tally) = (FruitStore(menu: .standard), FruitTally())
        #expect(maker.make(try basket(items), from: &store, &tally) == .outOfStock)
        #expect(summary(tally) == needed)
        #expect(lines(tally).filter(\.isShort).count == 1)
        #expect(store == FruitStore(menu: .standard))
    }

    @Test func aCancelPutsBackWhatTheOrderTook() throws {
        var (store, tally) = (FruitStore(menu: .standard), FruitTally())
        let basket = try basket([("kiwi", 2), ("strawberryBanana", 1)])
        #expect(maker.make(basket, from: &store, &tally) == .made)
        try store.apply(StockEdit(.add, [StockEdit.Entry(fruit: 3, amount: 5)]))
        try store.putBack(&tally)
        #expect(summary(tally) == ["kiwi 6 of 15", "strawberry 10 of 10", "banana 1 of 10"])
        #expect(store.levels == [10, 10, 10, 15, 10])
    }

    @Test(arguments: [(999_999_994, true), (999_999_995, false), (1_000_000_000, false)])
    func aCancelThatDoesNotFitChangesNothing(kiwis: Int, fits: Bool) throws {
        var (store, tally) = (FruitStore(menu: .standard), FruitTally())
        #expect(maker.make(try basket([("mango", 1), ("kiwi", 2)]), from: &store, &tally) == .made)
        try store.apply(StockEdit(.set, [StockEdit.Entry(fruit: 3, amount: kiwis)]))
        let before = (store, summary(tally))
        if fits {
            try store.putBack(&tally)
            #expect(store.levels == [10, 10, 10, 1_000_000_000, 10])
        } else {
            #expect(throws: StockEditError.wouldOverflow(fruit: 3, inStock: kiwis)) {
                try store.putBack(&tally)
            }
            #expect((store, summary(tally)) == before)
        }
    }

    /// What juices need of each fruit, by its id.
    private func needed(for items: [(juice: Juice, quantity: Int)]) -> [String: Int] {
        var needed: [String: Int] = [:]
        for item in items {
            for ingredient in item.juice.recipe {
                needed[maker.menu.fruits[ingredient.fruit].id, default: 0] += ingredient.amount * item.quantity
            }
        }
        return needed
    }

    /// The model has the levels by name, and adds up fruit by fruit.
    @Test func randomBasketsAndCancelsAreThoseOfAModel() throws {
        var generator = SeededGenerator(seed: 15)
        let menu = maker.menu
        var (store, tally) = (try FruitStore(levels: [300, 300, 300, 300, 300]), FruitTally())
        var model = Dictionary(uniqueKeysWithValues: menu.fruits.map { ($0.id, 300) })
        var (made, refused) = (0, 0)
        for _ in 0..<5_000 {
            let items = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                (
                    juice: menu.juices[Int.random(in: menu.juices.indices, using: &generator)],
                    quantity: Int.random(in: 1...4, using: &generator)
                )
            }
            let needed = needed(for: items)
            let fits = needed.allSatisfy { model[$0.key, default: 0] >= $0.value }
            let order = try basket(items.map { ($0.juice.id, $0.quantity) })
            #expect(maker.make(order, from: &store, &tally) == (fits ? .made : .outOfStock))

            // Whether it is made or not, the tally has each fruit once, with the sum; so has a mere count.
            let amounts = lines(tally).map { (menu.fruits[$0.fruit].id, $0.amount) }
            #expect(try Dictionary(amounts) { _, _ in throw Twice() } == needed)
            var counted = FruitTally()
            maker.count(order, &counted)
            #expect(lines(counted).map(\.fruit) == lines(tally).map(\.fruit))
            #expect(lines(counted).map(\.amount) == lines(tally).map(\.amount))

            if fits {
                made += 1
                for (fruit, amount) in needed { model[fruit, default: 0] -= amount }
                // Most are taken back, or else the store would soon be empty.
                if Int.random(in: 0..<10, using: &generator) > 0 {
                    try store.putBack(&tally)
                    for (fruit, amount) in needed { model[fruit, default: 0] += amount }
                }
            } else {
                refused += 1
                try store.apply(StockEdit(.add, store.levels.indices.map { .init(fruit: $0, amount: 20) }))
                for fruit in menu.fruits { model[fruit.id, default: 0] += 20 }
            }
            #expect(menu.fruits.indices.allSatisfy { store[$0] == model[menu.fruits[$0].id] })
        }
        #expect(made > 1_000 && refused > 300, "\(made) made, \(refused) refused")
    }

    /// A fruit has two lines.
    private struct Twice: Error {}
}
