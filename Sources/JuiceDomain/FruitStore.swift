/// The fruits of one store, each at a level from 0 to ``maximumLevel``.
///
/// A fruit is identified by its index on the menu. Levels take 32 bits each: there may be a million stores.
public struct FruitStore: Sendable, Hashable {
    /// The most of one fruit that a store holds.
    public static let maximumLevel = 1_000_000_000

    private var stored: [Int32]

    /// A store that no order or restock has changed yet.
    public init(menu: Menu) { stored = menu.fruits.map { Int32($0.initialStock) } }

    /// A store at these levels, in menu order.
    public init(levels: [Int]) throws(LevelOutOfRange) {
        stored = Array(repeating: 0, count: levels.count)
        try setLevels(levels)
    }

    /// Sets all levels, in menu order, or none if one of them is out of range.
    public mutating func setLevels(_ levels: [Int]) throws(LevelOutOfRange) {
        for (fruit, level) in levels.enumerated() where !(0...Self.maximumLevel).contains(level) {
            throw LevelOutOfRange(fruit: fruit, level: level)
        }
        for fruit in stored.indices { stored[fruit] = Int32(levels[fruit]) }
    }

    /// The number of fruits.
    public var fruitCount: Int { stored.count }

    /// The level of every fruit, in menu order. Allocates an array: for one level, use the subscript.
    public var levels: [Int] { stored.map(Int.init) }

    /// The level of the fruit at this index on the menu.
    public subscript(fruit: Int) -> Int { Int(stored[fruit]) }

    /// A level that no store can have.
    public struct LevelOutOfRange: Error, Hashable {
        /// The fruit's index.
        public let fruit: Int
        /// What its level would have been.
        public let level: Int
    }

    // MARK: - Snapshots of many stores

    /// Appends the levels to a snapshot.
    public func save(to snapshot: inout [Int32]) { snapshot.append(contentsOf: stored) }

    /// Writes the levels into a snapshot from `index` on. The snapshot must have room for them.
    public func save(to snapshot: inout [Int32], at index: Int) {
        for fruit in stored.indices { snapshot[index + fruit] = stored[fruit] }
    }

    /// Restores the levels from a snapshot, from `index` on.
    public mutating func restore(from snapshot: [Int32], at index: Int) {
        for fruit in stored.indices { stored[fruit] = snapshot[index + fruit] }
    }

    /// Copies the levels of another store of the same menu. Unlike an assignment, it shares no memory with the other store.
    public mutating func restore(from other: FruitStore) { restore(from: other.stored, at: 0) }

    // MARK: - Changes

    // Only if no line is short: the levels stay at 0 or above.
    mutating func take(_ tally: inout FruitTally) {
        for index in 0..<tally.count {
            let line = tally[index]
            stored[line.fruit] -= Int32(line.amount)
            tally[index].level = line.level - line.amount
        }
    }

    /// Applies an edit by the same menu to every fruit that it names, or to none.
    public mutating func apply(_ edit: StockEdit) throws(StockEditError) {
        for entry in edit.entries { _ = try level(after: entry, of: edit.kind) }
        // All entries fit, and none affects another.
        for entry in edit.entries { stored[entry.fruit] = Int32(try level(after: entry, of: edit.kind)) }
    }

    /// Puts back all fruits of an order that was made and is cancelled, or none.
    ///
    /// - Parameter tally: the order's tally, as ``JuiceMaker/make(_:from:_:)`` set it. Its levels become those afterwards.
    /// - Throws: ``StockEditError/wouldOverflow(fruit:inStock:)``.
    public mutating func putBack(_ tally: inout FruitTally) throws(StockEditError) {
        let lines = (0..<tally.count).map { tally[$0] }
        try apply(StockEdit(.add, lines.map { StockEdit.Entry(fruit: $0.fruit, amount: $0.amount) }))
        for (index, line) in lines.enumerated() { tally[index].level = self[line.fruit] }
    }

    private func level(after entry: StockEdit.Entry, of kind: StockEdit.Kind) throws(StockEditError) -> Int {
        let inStock = self[entry.fruit]
        let (level, overflow) =
            switch kind {
            case .add: inStock.addingReportingOverflow(entry.amount)
            case .set: (entry.amount, false)
            }
        // A level is never negative, so only a step up can leave the range of `Int`.
        guard !overflow, level <= Self.maximumLevel else { throw .wouldOverflow(fruit: entry.fruit, inStock: inStock) }
        guard level >= 0 else { throw .wouldGoNegative(fruit: entry.fruit, inStock: inStock) }
        return level
    }
}
