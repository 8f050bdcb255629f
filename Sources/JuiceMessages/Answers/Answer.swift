/// An answer as a client sees it. It owns its texts and needs no menu.
public struct Answer: Sendable, Hashable {
    /// Whether an order or a restock was answered.
    public let command: CommandKind
    /// The id of the order or restock.
    public let id: String
    /// The store it was for.
    public let store: String
    /// What came of it.
    public let outcome: Outcome
    /// Whether the command was a repeat and this its first answer, given again.
    public let isDuplicate: Bool
    /// What to tell people, in the language of the service.
    public let message: String

    /// What can come of a command.
    public enum Outcome: Sendable, Hashable {
        /// `quantity` of the juice were made: the fruits used, and what is left of them.
        case juiceMade(juice: String, quantity: Int, used: [FruitAmount], left: [FruitAmount])
        /// The juice could not be made: every fruit that is short, at least one.
        case outOfStock(juice: String, quantity: Int, missing: [MissingFruit])
        /// The stock was changed: the levels of the named fruits after it.
        case restocked(left: [FruitAmount])
        /// The command had no effect. The code is one of ``Rejection/Reason``, or one that a newer service added.
        case rejected(reason: String)
    }
}

/// An amount of a fruit.
public struct FruitAmount: Sendable, Hashable, Encodable {
    /// The fruit's id.
    public let fruit: String
    /// The amount.
    public let amount: Int

    /// An amount of the fruit with this id.
    public init(fruit: String, amount: Int) {
        self.fruit = fruit
        self.amount = amount
    }
}

/// A fruit that an order was short of.
public struct MissingFruit: Sendable, Hashable, Encodable {
    /// The fruit's id.
    public let fruit: String
    /// How many the order needed.
    public let needed: Int
    /// How many there were.
    public let inStock: Int

    /// A fruit of which there were fewer than needed.
    public init(fruit: String, needed: Int, inStock: Int) {
        self.fruit = fruit
        self.needed = needed
        self.inStock = inStock
    }
}
