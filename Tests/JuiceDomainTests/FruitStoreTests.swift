import JuiceDomain
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

@Suite struct FruitTallyTests {
    private func line(_ fruit: Int, _ amount: Int, _ level: Int = 10) -> FruitTally.Line {
        FruitTally.Line(fruit: fruit, amount: amount, level: level)
    }

    @Test func amountsOfOneFruitAreAddedUpInItsFirstPlace() {
        var tally = FruitTally()
        for (fruit, amount) in [(3, 2), (4, 1), (3, 5), (0, 7), (4, 1)] { tally.add(line(fruit, amount)) }
        #expect(tally.lines == [line(3, 7), line(4, 2), line(0, 7)])
    }

    @Test(arguments: [(9, 10, true), (10, 10, false), (11, 10, false), (0, 1, true), (0, 0, false)])
    func aFruitIsShortBelowItsAmount(level: Int, amount: Int, isShort: Bool) {
        #expect(line(0, amount, level).isShort == isShort)
    }

    @Test func aTallyThatIsSetAgainKeepsNothing() {
        var tally = FruitTally()
        for fruit in 0..<5 { tally.append(line(fruit, 1)) }
        tally.removeAll()
        #expect(tally.lines.isEmpty)
        // The amount of an earlier line of the same place or fruit does not count.
        tally.add(line(4, 2))
        #expect(tally.lines == [line(4, 2)])

        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 3, amount: -2), StockEdit.Entry(fruit: 0, amount: 6)])
        tally.set(edit, left: FruitStore(menu: .standard))
        #expect(tally.lines == [line(0, 0), line(3, 0)])
    }
}

extension FruitTally {
    /// All lines, for tables of expected results.
    var lines: [Line] { (0..<count).map { self[$0] } }
}

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
