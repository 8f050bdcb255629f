/// A fruit on the menu. Everywhere else a fruit is its index in ``Menu/fruits``.
public struct Fruit: Sendable, Hashable {
    /// What records call it: 1 to 128 bytes, compared byte by byte.
    public let id: String
    /// What people call it.
    public let name: LocalizedName
    /// How many of it a store has before its first order or restock.
    public let initialStock: Int

    /// The stock a store starts with when a menu does not say otherwise.
    public static let defaultInitialStock = 10

    /// A fruit, to be checked by ``Menu/init(fruits:juices:)``.
    public init(id: String, name: LocalizedName, initialStock: Int = Fruit.defaultInitialStock) {
        self.id = id
        self.name = name
        self.initialStock = initialStock
    }
}
