/// Makes the juices of a menu out of a store's fruits.
///
/// A class, because copying its tables for a call would cost more than making a juice.
public final class JuiceMaker: Sendable {
    /// The juices it can make.
    public let menu: Menu
    /// The ingredients of all recipes, one recipe after the other: an array for each would cost reference counting when read.
    private let ingredients: [Ingredient]
    /// The range of each juice's recipe in `ingredients`.
    private let recipes: [Range<Int>]

    /// A maker of this menu's juices.
    public init(menu: Menu) {
        self.menu = menu
        var ingredients: [Ingredient] = []
        recipes = menu.juices.map { juice in
            ingredients += juice.recipe
            return ingredients.count - juice.recipe.count..<ingredients.count
        }
        self.ingredients = ingredients
    }

    /// The outcome of an order.
    public enum Outcome {
        /// The juices were made and their fruits taken.
        case made
        /// The store is short of at least one fruit, and nothing was taken: ``FruitTally/Line/isShort`` marks which.
        case outOfStock
    }

    /// Makes all juices of an order, or none: takes all the fruits they need, or leaves the store as it is. Allocates no memory.
    ///
    /// - Parameters:
    ///   - order: an order from the same menu.
    ///   - store: a store of the same menu.
    ///   - tally: set to the fruits that the order needs, in the sequence in which its recipes first name them.
    public func make(_ order: JuiceOrder, from store: inout FruitStore, _ tally: inout FruitTally) -> Outcome {
        count(order, &tally) { store[$0] }
        for index in 0..<tally.count where tally[index].isShort { return .outOfStock }
        store.take(&tally)
        return .made
    }

    /// Sets a tally to what an order needs, with all levels 0.
    public func count(_ order: JuiceOrder, _ tally: inout FruitTally) {
        count(order, &tally) { _ in 0 }
    }

    /// Sets a tally to what an order needs, with the levels that `level` gives.
    @inline(__always)
    private func count(_ order: JuiceOrder, _ tally: inout FruitTally, level: (Int) -> Int) {
        tally.removeAll()
        switch order {
        case .single(let item):
            for index in recipes[item.juice] { tally.append(line(ingredients[index], item, level)) }
        case .basket(let items):
            for item in items {
                for index in recipes[item.juice] { tally.add(line(ingredients[index], item, level)) }
            }
        }
    }

    @inline(__always)
    private func line(_ ingredient: Ingredient, _ item: OrderItem, _ level: (Int) -> Int) -> FruitTally.Line {
        let fruit = ingredient.fruit
        return FruitTally.Line(fruit: fruit, amount: ingredient.amount * item.quantity, level: level(fruit))
    }
}
