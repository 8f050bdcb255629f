/// A change to a store's stock that is not an order: a delivery, a loss, a count.
public struct StockEdit: Sendable, Hashable {
    /// How the amounts are meant.
    public let kind: Kind
    /// The edited fruits, each once, in menu order.
    public let entries: [Entry]

    /// How the amounts of a stock edit are meant.
    public enum Kind: Sendable {
        /// As steps up or, when negative, down from the present levels.
        case add
        /// As the new levels.
        case set
    }

    /// What happens to one fruit.
    public struct Entry: Sendable, Hashable {
        /// The fruit's index in ``Menu/fruits``.
        public let fruit: Int
        /// The step, or the new level. Any number: the store decides what it can take.
        public let amount: Int

        /// An amount for a fruit.
        public init(fruit: Int, amount: Int) {
            self.fruit = fruit
            self.amount = amount
        }
    }

    /// An edit of these fruits, which are put into menu order. A fruit given twice is a mistake of the
    /// caller.
    public init(_ kind: Kind, _ entries: [Entry]) {
        self.kind = kind
        self.entries = entries.sorted { $0.fruit < $1.fruit }
        let pairs = zip(self.entries, self.entries.dropFirst())
        precondition(pairs.allSatisfy { $0.fruit != $1.fruit }, "an edit names a fruit once")
    }
}

/// Why a store did not take a stock edit. It names the first such fruit in menu order; no fruit was changed.
public enum StockEditError: Error, Hashable {
    /// The level of the fruit, now `inStock`, would be below 0.
    case wouldGoNegative(fruit: Int, inStock: Int)
    /// The level of the fruit, now `inStock`, would be above ``FruitStore/maximumLevel``.
    case wouldOverflow(fruit: Int, inStock: Int)
}

extension FruitStore {
    /// Applies an edit of fruits of the same menu to every fruit it names, or to none.
    public mutating func apply(_ edit: StockEdit) throws(StockEditError) {
        for entry in edit.entries { _ = try level(after: entry, of: edit.kind) }
        // All of them fit, and none depends on another.
        for entry in edit.entries { setLevel(of: entry.fruit, to: try level(after: entry, of: edit.kind)) }
    }

    /// Puts the fruits of an order back that was made and is cancelled, or none of them.
    ///
    /// - Parameter tally: the order's, as ``JuiceMaker/make(_:from:_:)`` set it; its levels become those after the cancel.
    /// - Throws: ``StockEditError/wouldOverflow(fruit:inStock:)``.
    public mutating func putBack(_ tally: inout FruitTally) throws(StockEditError) {
        let lines = (0..<tally.count).map { tally[$0] }
        try apply(StockEdit(.add, lines.map { StockEdit.Entry(fruit: $0.fruit, amount: $0.amount) }))
        for (place, line) in lines.enumerated() { tally[place].level = self[line.fruit] }
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
