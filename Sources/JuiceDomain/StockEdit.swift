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
