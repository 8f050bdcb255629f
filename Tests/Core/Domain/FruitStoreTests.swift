import JuiceDomain
import Testing

@Suite struct FruitStoreTests {
    @Test func aNewStoreHasTheInitialStock() throws {
        let name = LocalizedName(english: "f", korean: "f")
        let fruits = [3, 0, 1_000_000_000].map { Fruit(id: "\($0)", name: name, initialStock: $0) }
        let store = FruitStore(menu: try Menu(fruits: fruits, juices: [JuiceSpec(id: "j", name: name, recipe: [("0", 1)])]))
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

private func edit(_ kind: StockEdit.Kind, _ entries: [(fruit: Int, amount: Int)]) -> StockEdit {
    StockEdit(kind, entries.map { StockEdit.Entry(fruit: $0.fruit, amount: $0.amount) })
}

@Suite struct StockEditTests {
    /// The edit of one fruit of which there are 10, and its level afterwards, or the error if that is too low or too high.
    @Test(
        arguments: [
            (.add, 5, .success(15)), (.add, -10, .success(0)), (.add, 0, .success(10)),
            (.add, 999_999_990, .success(1_000_000_000)),
            (.set, 0, .success(0)), (.set, 1_000_000_000, .success(1_000_000_000)), (.set, 10, .success(10)),
            (.add, -11, .failure(.wouldGoNegative(fruit: 3, inStock: 10))),
            (.add, .min, .failure(.wouldGoNegative(fruit: 3, inStock: 10))),
            (.add, 999_999_991, .failure(.wouldOverflow(fruit: 3, inStock: 10))),
            (.add, .max, .failure(.wouldOverflow(fruit: 3, inStock: 10))),
            (.set, -1, .failure(.wouldGoNegative(fruit: 3, inStock: 10))),
            (.set, .min, .failure(.wouldGoNegative(fruit: 3, inStock: 10))),
            (.set, 1_000_000_001, .failure(.wouldOverflow(fruit: 3, inStock: 10))),
            (.set, .max, .failure(.wouldOverflow(fruit: 3, inStock: 10))),
        ] as [(StockEdit.Kind, Int, Result<Int, StockEditError>)]
    )
    func anEditIsTakenWithinTheBounds(kind: StockEdit.Kind, amount: Int, result: Result<Int, StockEditError>) {
        var store = FruitStore(menu: .standard)
        let others = kind == .add ? 0 : 10
        let taken = Result { () throws(StockEditError) in
            try store.apply(edit(kind, [(0, others), (3, amount), (4, others)]))
            return store[3]
        }
        #expect(taken == result)
        #expect(store.levels == [10, 10, 10, (try? result.get()) ?? 10, 10])
    }

    @Test func severalFruitsAreEditedAtOnceAndNamedInMenuOrder() throws {
        var store = FruitStore(menu: .standard)
        let several = edit(.add, [(3, -2), (0, 6)])
        #expect(several.entries.map(\.fruit) == [0, 3])
        try store.apply(several)
        #expect(store.levels == [16, 10, 10, 8, 10])
        // All or none, and the first fault in menu order is reported.
        #expect(throws: StockEditError.wouldOverflow(fruit: 1, inStock: 10)) {
            try store.apply(edit(.set, [(4, -1), (1, .max), (0, 1)]))
        }
        #expect(store.levels == [16, 10, 10, 8, 10])
    }
}
