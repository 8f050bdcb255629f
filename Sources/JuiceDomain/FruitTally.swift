/// What a command does to the fruits of a store, fruit by fruit.
///
/// Keep it and set it again for each command: then it allocates only until it has room for the longest recipe.
public struct FruitTally: Sendable {
    /// One fruit of a command.
    public struct Line: Hashable, Sendable {
        /// The fruit's index in ``Menu/fruits``.
        public let fruit: Int
        /// How many of the fruit the command takes, returns or adds; 0 if it sets the level.
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
            let amount =
                switch edit.kind {
                case .add: entry.amount
                case .set: 0
                }
            append(Line(fruit: entry.fruit, amount: amount, level: store[entry.fruit]))
        }
    }
}
