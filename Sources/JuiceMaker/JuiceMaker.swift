/// What a customer orders.
public struct JuiceOrder: Hashable, Sendable {
    /// An index of ``Menu/juices``.
    public let juice: Int
    /// One of ``JuiceMaker/quantities``.
    public let quantity: Int

    /// An order of so many of a juice.
    public init(juice: Int, quantity: Int) {
        self.juice = juice
        self.quantity = quantity
    }
}

/// Makes the juices of a menu out of a store's fruits.
public struct JuiceMaker: Sendable {
    /// The juices it can make.
    public let menu: Menu
    /// The menu's, without the rest of each juice: reading one counts fewer references.
    private let recipes: [[Ingredient]]

    /// How many juices one order may ask for.
    public static let quantities = 1...100

    /// A maker of this menu's juices.
    public init(menu: Menu) {
        self.menu = menu
        recipes = menu.juices.map(\.recipe)
    }

    /// What came of an order.
    public enum Outcome {
        /// The juices were made and their fruits taken.
        case made
        /// The store is short of at least one fruit, and nothing was taken: ``FruitStore/has(_:times:)`` tells which.
        case outOfStock
    }

    /// The ingredients of one of the ordered juices.
    public func recipe(of order: JuiceOrder) -> [Ingredient] { recipes[order.juice] }

    /// Makes all juices of an order, or none: takes all the fruits they need, or leaves the store as it is.
    ///
    /// Allocates no memory.
    ///
    /// - Parameters:
    ///   - order: an order by the same menu.
    ///   - store: a store of the same menu.
    public func make(_ order: JuiceOrder, from store: inout FruitStore) -> Outcome {
        precondition(Self.quantities.contains(order.quantity), "a juice is ordered 1 to 100 at a time")
        let recipe = recipes[order.juice]
        for ingredient in recipe where !store.has(ingredient, times: order.quantity) {
            return .outOfStock
        }
        store.take(recipe, times: order.quantity)
        return .made
    }
}
