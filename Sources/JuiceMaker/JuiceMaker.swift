/// Makes the juices of a menu out of a store's fruits.
///
/// A class, because copying its tables for a call would cost more than making a juice.
public final class JuiceMaker: Sendable {
    /// The juices it can make.
    public let menu: Menu
    /// The menu's, without the rest of each juice: reading one counts fewer references.
    private let recipes: [[Ingredient]]

    /// A maker of this menu's juices.
    public init(menu: Menu) {
        self.menu = menu
        recipes = menu.juices.map(\.recipe)
    }

    /// What came of an order.
    public enum Outcome {
        /// The juices were made and their fruits taken.
        case made
        /// The store is short of at least one fruit, and nothing was taken: ``FruitTally/Line/isShort`` tells of which.
        case outOfStock
    }

    /// Makes all juices of an order, or none: takes all the fruits they need, or leaves the store as it is.
    ///
    /// Allocates no memory.
    ///
    /// - Parameters:
    ///   - order: an order by the same menu.
    ///   - store: a store of the same menu.
    ///   - tally: becomes the order's: the fruits that it needs, in the order in which its recipes first name them.
    public func make(
        _ order: JuiceOrder,
        from store: inout FruitStore,
        _ tally: inout FruitTally
    ) -> Outcome {
        count(order, &tally) { store[$0] }
        for place in 0..<tally.count where tally[place].isShort { return .outOfStock }
        store.take(&tally)
        return .made
    }

    /// Sets a tally to what an order needs.
    ///
    /// - Parameters:
    ///   - order: an order by the same menu.
    ///   - tally: becomes the order's.
    ///   - level: the level of a fruit.
    @inline(__always)
    private func count(_ order: JuiceOrder, _ tally: inout FruitTally, level: (Int) -> Int) {
        tally.removeAll()
        switch order {
        case .single(let item):
            for ingredient in recipes[item.juice] { tally.append(line(ingredient, item, level)) }
        case .basket(let items):
            for item in items {
                for ingredient in recipes[item.juice] { tally.add(line(ingredient, item, level)) }
            }
        }
    }

    /// Sets a tally to what an order needs, with all levels 0.
    public func count(_ order: JuiceOrder, _ tally: inout FruitTally) {
        count(order, &tally) { _ in 0 }
    }

    @inline(__always)
    private func line(_ ingredient: Ingredient, _ item: OrderItem, _ level: (Int) -> Int) -> FruitTally.Line {
        let fruit = ingredient.fruit
        return FruitTally.Line(fruit: fruit, amount: ingredient.amount * item.quantity, level: level(fruit))
    }
}
