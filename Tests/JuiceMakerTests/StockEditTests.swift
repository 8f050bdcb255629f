import JuiceMaker
import Testing

@Suite struct StockEditTests {
    @Test(
        arguments: [
            (.add, 5, 15), (.add, -10, 0), (.add, 0, 10), (.add, 999_999_990, 1_000_000_000),
            (.set, 0, 0), (.set, 1_000_000_000, 1_000_000_000), (.set, 10, 10),
        ] as [(StockEdit.Kind, Int, Int)]
    )
    func anEditWithinTheBoundsIsTaken(kind: StockEdit.Kind, amount: Int, level: Int) throws {
        var store = FruitStore(menu: .standard)
        try store.apply(StockEdit(kind, [StockEdit.Entry(fruit: 3, amount: amount)]))
        #expect(store.levels == [10, 10, 10, level, 10])
    }

    @Test(
        arguments: [
            (.add, -11, .wouldGoNegative(fruit: 3, inStock: 10)),
            (.add, .min, .wouldGoNegative(fruit: 3, inStock: 10)),
            (.add, 999_999_991, .wouldOverflow(fruit: 3, inStock: 10)),
            (.add, .max, .wouldOverflow(fruit: 3, inStock: 10)),
            (.set, -1, .wouldGoNegative(fruit: 3, inStock: 10)),
            (.set, .min, .wouldGoNegative(fruit: 3, inStock: 10)),
            (.set, 1_000_000_001, .wouldOverflow(fruit: 3, inStock: 10)),
            (.set, .max, .wouldOverflow(fruit: 3, inStock: 10)),
        ] as [(StockEdit.Kind, Int, StockEditError)]
    )
    func anEditBeyondTheBoundsChangesNothing(kind: StockEdit.Kind, amount: Int, error: StockEditError) {
        var store = FruitStore(menu: .standard)
        let edit = StockEdit(
            kind,
            [StockEdit.Entry(fruit: 0, amount: 1), StockEdit.Entry(fruit: 3, amount: amount), StockEdit.Entry(fruit: 4, amount: 1)])
        #expect(throws: error) { try store.apply(edit) }
        #expect(store.levels == [10, 10, 10, 10, 10])
    }

    @Test func severalFruitsAreEditedAtOnceAndNamedInMenuOrder() throws {
        var store = FruitStore(menu: .standard)
        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 3, amount: -2), StockEdit.Entry(fruit: 0, amount: 6)])
        #expect(edit.entries.map(\.fruit) == [0, 3])
        try store.apply(edit)
        #expect(store.levels == [16, 10, 10, 8, 10])
    }

    @Test func theFirstFaultInMenuOrderIsReported() {
        var store = FruitStore(menu: .standard)
        let edit = StockEdit(.set, [StockEdit.Entry(fruit: 4, amount: -1), StockEdit.Entry(fruit: 1, amount: .max)])
        #expect(throws: StockEditError.wouldOverflow(fruit: 1, inStock: 10)) { try store.apply(edit) }
    }

    @Test(
        arguments: [
            ([(3, 6), (0, 10)], [10, 10, 10, 4, 10], nil), ([(0, 999_999_990)], [10, 0, 0, 0, 0], nil),
            ([], [10, 10, 10, 10, 10], nil),
            // Named is the first such fruit in menu order.
            ([(0, 1), (4, 3), (2, 2)], [0, 0, 999_999_999, 0, 999_999_998], 2),
            ([(4, 100), (0, 1)], [0, 0, 0, 0, 1_000_000_000], 4),
        ] as [([(fruit: Int, amount: Int)], [Int], Int?)]
    )
    func fruitsArePutBackAllOrNone(returned: [(fruit: Int, amount: Int)], levels: [Int], over: Int?) throws {
        var store = try FruitStore(levels: levels)
        var tally = FruitTally()
        for (fruit, amount) in returned { tally.append(FruitTally.Line(fruit: fruit, amount: amount, level: 0)) }
        if let over {
            let error = StockEditError.wouldOverflow(fruit: over, inStock: levels[over])
            #expect(throws: error) { try store.putBack(&tally) }
            #expect(store.levels == levels)
        } else {
            try store.putBack(&tally)
            var expected = levels
            for (fruit, amount) in returned { expected[fruit] += amount }
            #expect(store.levels == expected)
            #expect(tally.lines.map(\.level) == returned.map { store[$0.fruit] })
        }
        #expect(tally.lines.map(\.amount) == returned.map(\.amount))
    }
}
