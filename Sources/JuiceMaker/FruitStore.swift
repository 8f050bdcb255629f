/// The fruits of one store, each at a level from 0 to ``maximumLevel``.
///
/// A fruit is its index on the menu. Levels take 32 bits each: there may be a million stores.
public struct FruitStore: Sendable, Hashable {
    /// The most of one fruit that a store holds.
    public static let maximumLevel = 1_000_000_000

    private var stored: [Int32]

    /// A store no order or restock has changed yet.
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

    /// How many fruits there are levels of.
    public var fruitCount: Int { stored.count }

    /// The level of every fruit, in menu order. Makes an array: to look at one level, use the subscript.
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
}

extension FruitStore {
    /// Appends the levels to a snapshot of many stores.
    public func save(to snapshot: inout [Int32]) { snapshot.append(contentsOf: stored) }

    /// Puts the levels into a snapshot of many stores, from this place on, where there is room for them.
    public func save(to snapshot: inout [Int32], at place: Int) {
        for fruit in stored.indices { snapshot[place + fruit] = stored[fruit] }
    }

    /// Takes the levels from where ``save(to:)`` put them.
    public mutating func restore(from snapshot: [Int32], at place: Int) {
        for fruit in stored.indices { stored[fruit] = snapshot[place + fruit] }
    }

    /// Takes the levels of another store of the same menu. Unlike an assignment it keeps to memory of its own.
    public mutating func restore(from other: FruitStore) {
        for fruit in stored.indices { stored[fruit] = other.stored[fruit] }
    }
}

extension FruitStore {
    // Only if no line is short: the levels stay at 0 or above.
    mutating func take(_ tally: inout FruitTally) {
        for place in 0..<tally.count {
            let line = tally[place]
            stored[line.fruit] -= Int32(line.amount)
            tally[place].level = line.level - line.amount
        }
    }

    // Only with a level in range.
    mutating func setLevel(of fruit: Int, to level: Int) { stored[fruit] = Int32(level) }
}
