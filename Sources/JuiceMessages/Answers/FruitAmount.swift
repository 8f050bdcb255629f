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
