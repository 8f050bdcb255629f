/// Makes the juices of a menu out of a store's fruits.
public struct JuiceMaker: Sendable {
    /// The juices it can make.
    public let menu: Menu
    /// Those of the menu, at hand without the rest of each juice.
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
        /// At least one fruit was short and nothing was taken.
        case outOfStock(Shortages)
    }

    /// Makes `quantity` juices, or none: either every fruit they need is there and all of it is taken, or the
    /// store is left as it is and the outcome names every fruit that is short.
    ///
    /// Takes no memory. `juice` is an index of ``Menu/juices``, `quantity` one of ``quantities`` and `store`
    /// of the same menu; anything else is a mistake of the caller.
    public func make(_ juice: Int, quantity: Int, from store: inout FruitStore) -> Outcome {
        precondition(Self.quantities.contains(quantity), "a juice is ordered 1 to 100 at a time")
        let recipe = recipes[juice]
        for ingredient in recipe where !store.has(ingredient, times: quantity) {
            return .outOfStock(Shortages(recipe: recipe, quantity: quantity, store: store))
        }
        store.take(recipe, times: quantity)
        return .made
    }
}
