/// The first fault in a menu: where it is and what it is.
public struct MenuError: Error, Hashable {
    /// The path to the faulty part, such as `juices[3].recipe.mango`.
    public let place: String
    /// What is wrong there.
    public let problem: Problem

    init(_ place: String, _ problem: Problem) {
        self.place = place
        self.problem = problem
    }

    /// What can be wrong with a menu.
    public enum Problem: Hashable, Sendable {
        /// A list, recipe, id, name or alias that must hold something holds nothing, or an alias nothing but spaces.
        case empty
        /// An id, name or alias is longer than ``Menu/maximumTextLength`` bytes.
        case textTooLong
        /// An earlier fruit, or an earlier juice, has the same id.
        case duplicateID(String)
        /// An alias is also the id, a name or an alias of another juice, which has this id.
        case ambiguousAlias(String)
        /// A recipe asks for a fruit that is not on the menu.
        case unknownFruit
        /// A recipe names a fruit twice.
        case duplicateFruit
        /// A recipe asks for none of a fruit, or for less than none.
        case amountNotPositive
        /// A recipe asks for more of a fruit than a store can hold.
        case amountTooLarge
        /// A store would start below zero or above what it can hold.
        case initialStockOutOfRange
    }
}

extension MenuError: CustomStringConvertible {
    /// The place and the problem in English, such as `juices[3].recipe.mango: no fruit has this id`.
    public var description: String { "\(place): \(problem)" }
}

extension MenuError.Problem: CustomStringConvertible {
    /// The problem in English.
    public var description: String {
        switch self {
        case .empty: "must not be empty"
        case .textTooLong: "must not be longer than \(Menu.maximumTextLength) bytes"
        case .duplicateID(let id): "the id \"\(id)\" is taken"
        case .ambiguousAlias(let id): "already means the juice \"\(id)\""
        case .unknownFruit: "no fruit has this id"
        case .duplicateFruit: "this fruit is already in the recipe"
        case .amountNotPositive: "the amount must be at least 1"
        case .amountTooLarge: "the amount must be at most \(FruitStore.maximumLevel)"
        case .initialStockOutOfRange: "must be from 0 to \(FruitStore.maximumLevel)"
        }
    }
}
