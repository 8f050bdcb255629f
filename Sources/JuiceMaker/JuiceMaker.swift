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

    /// The ingredients of the juice at this index on the menu.
    public func recipe(of juice: Int) -> [Ingredient] { recipes[juice] }

    /// Makes `quantity` juices, or none: takes all the fruits they need, or leaves the store as it is.
    ///
    /// Allocates no memory.
    ///
    /// - Parameters:
    ///   - juice: an index of ``Menu/juices``.
    ///   - quantity: one of ``quantities``.
    ///   - store: a store of the same menu.
    public func make(_ juice: Int, quantity: Int, from store: inout FruitStore) -> Outcome {
        precondition(Self.quantities.contains(quantity), "a juice is ordered 1 to 100 at a time")
        let recipe = recipes[juice]
        for ingredient in recipe where !store.has(ingredient, times: quantity) {
            return .outOfStock
        }
        store.take(recipe, times: quantity)
        return .made
    }
}
