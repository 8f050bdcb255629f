/// A fruit there was not enough of.
public struct Shortage: Sendable, Hashable {
    /// The fruit's index in ``Menu/fruits``.
    public let fruit: Int
    /// How many the order needed.
    public let needed: Int
    /// How many there were, fewer than ``needed``.
    public let inStock: Int
}

/// Every fruit an order was short of, in the order of the recipe; at least one.
///
/// Found while it is iterated, so that it takes no memory. It holds on to the store as it was: let go of it
/// before the store changes next, or that change has to copy the levels.
public struct Shortages: Sequence, Sendable {
    let recipe: [Ingredient]
    let quantity: Int
    let store: FruitStore

    /// An iterator over the shortages.
    public func makeIterator() -> Iterator {
        Iterator(shortages: self)
    }

    /// Goes through the recipe and stops at every fruit that is short.
    public struct Iterator: IteratorProtocol {
        private let shortages: Shortages
        private var position = 0

        init(shortages: Shortages) {
            self.shortages = shortages
        }

        /// The next fruit that is short.
        public mutating func next() -> Shortage? {
            let (quantity, store) = (shortages.quantity, shortages.store)
            while position < shortages.recipe.count {
                let ingredient = shortages.recipe[position]
                position += 1
                if !store.has(ingredient, times: quantity) {
                    return Shortage(
                        fruit: ingredient.fruit,
                        needed: ingredient.amount * quantity,
                        inStock: store[ingredient.fruit]
                    )
                }
            }
            return nil
        }
    }
}
