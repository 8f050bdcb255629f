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
    /// - Parameter tally: the order's tally, as ``JuiceMaker/make(_:from:_:)`` set it. Its levels become those after the cancel.
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

/// What a command does to the fruits of a store, fruit by fruit.
///
/// Keep it and set it again for each command: then it allocates only until it has room for the longest recipe.
public struct FruitTally: Sendable {
    /// One fruit of a command.
    public struct Line: Hashable, Sendable {
        /// The fruit's index in ``Menu/fruits``.
        public let fruit: Int
        /// How many of the fruit an order needs, a cancel returns, or a stock edit adds; 0 if the edit sets the level.
        public var amount: Int
        /// The level after the command.
        public var level: Int

        /// A line of a tally.
        @inlinable
        public init(fruit: Int, amount: Int, level: Int) {
            self.fruit = fruit
            self.amount = amount
            self.level = level
        }

        /// Whether an order that was not made needs more than there is.
        @inlinable
        public var isShort: Bool { level < amount }
    }

    /// The number of lines.
    public private(set) var count = 0
    // The first `count` are in use: emptying an array and appending to it costs several times as much as setting.
    @usableFromInline
    var lines: [Line] = []

    /// A tally without lines.
    public init() {}

    /// The lines, in the order in which answers name the fruits.
    @inlinable
    public subscript(index: Int) -> Line {
        get { lines[index] }
        _modify { yield &lines[index] }
    }

    /// Removes all lines.
    public mutating func removeAll() { count = 0 }

    // Inlined, as `add` is: both are called for each ingredient of an order.
    /// Appends a line for a fruit that has none yet.
    @inline(__always)
    public mutating func append(_ line: Line) {
        if count < lines.count { lines[count] = line } else { lines.append(line) }
        count += 1
    }

    /// Adds a line's amount to the line of the same fruit, or appends the line.
    @inline(__always)
    public mutating func add(_ line: Line) {
        if let index = (0..<count).first(where: { lines[$0].fruit == line.fruit }) {
            lines[index].amount += line.amount
        } else {
            append(line)
        }
    }

    /// Becomes the tally of a stock edit. `store` is the store after it.
    public mutating func set(_ edit: StockEdit, left store: FruitStore) {
        removeAll()
        for entry in edit.entries {
            append(Line(fruit: entry.fruit, amount: edit.kind == .add ? entry.amount : 0, level: store[entry.fruit]))
        }
    }
}

/// A change to a store's stock that is not an order: a delivery, a loss, a count.
public struct StockEdit: Sendable, Hashable {
    /// How the amounts are meant.
    public let kind: Kind
    /// The edited fruits, each once, in menu order.
    public let entries: [Entry]

    /// How the amounts of a stock edit are meant.
    public enum Kind: Sendable {
        /// The amounts are steps from the present levels: up, or down if negative.
        case add
        /// The amounts are the new levels.
        case set
    }

    /// What happens to one fruit.
    public struct Entry: Sendable, Hashable {
        /// The fruit's index in ``Menu/fruits``.
        public let fruit: Int
        /// The step, or the new level. Any number: the store decides whether it accepts that.
        public let amount: Int

        /// An amount for a fruit.
        public init(fruit: Int, amount: Int) { (self.fruit, self.amount) = (fruit, amount) }
    }

    /// An edit with these entries, which are sorted into menu order. Naming a fruit twice is a programming error.
    public init(_ kind: Kind, _ entries: [Entry]) {
        self.kind = kind
        self.entries = entries.sorted { $0.fruit < $1.fruit }
        let pairs = zip(self.entries, self.entries.dropFirst())
        precondition(pairs.allSatisfy { $0.fruit != $1.fruit }, "an edit names a fruit once")
    }
}

/// Why a store refused a stock edit. It names the first fruit at fault in menu order; no fruit was changed.
public enum StockEditError: Error, Hashable {
    /// The level of the fruit, now `inStock`, would be below 0.
    case wouldGoNegative(fruit: Int, inStock: Int)
    /// The level of the fruit, now `inStock`, would be above ``FruitStore/maximumLevel``.
    case wouldOverflow(fruit: Int, inStock: Int)
}
