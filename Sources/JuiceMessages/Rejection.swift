import JuiceDomain

/// Why a command is rejected, with the details for its message.
///
/// Fruits are indices of the menu; texts of the sender are already clipped.
public enum Rejection: Error, Hashable {
    /// The menu has no such juice.
    case unknownJuice(String)
    /// The menu has no such fruit.
    case unknownFruit(String)
    /// The quantity is not an integer, or not one of `JuiceOrder.quantities`.
    case badQuantity
    /// The amount for a fruit is not an integer of 64 bits.
    case badAmount(fruit: Int)
    /// The edit would take a fruit below zero; `inStock` is its level.
    case wouldGoNegative(fruit: Int, inStock: Int)
    /// The edit would take a fruit above what a store holds; `inStock` is its level.
    case wouldOverflow(fruit: Int, inStock: Int)
    /// The edit names no fruit.
    case emptyRestock
    /// The structure of the command is wrong.
    case badCommand(Fault)
    /// The order was cancelled before.
    case cancelled

    /// What can be wrong with the structure of a command.
    public enum Fault: Hashable, Sendable {
        /// An order names no juice.
        case missingJuice
        /// An order's juice is not a string.
        case juiceNotText
        /// An order has both `juice` and `items`.
        case juiceAndItems
        /// A basket has a quantity, which only its items can have.
        case quantityAndItems
        /// A basket is empty.
        case noItems
        /// A basket has more than `JuiceOrder.mostItems` items.
        case tooManyItems
        /// An item of a basket is not an object.
        case itemNotAnObject
        /// A restock has both `add` and `set`.
        case addAndSet
        /// A field that must be an object is something else.
        case notAnObject(Field)
        /// A field that must be an array is something else.
        case notAnArray(Field)
        /// A field that must be true or false is something else.
        case notBoolean(Field)
        /// A field is given twice.
        case repeatedField(Field)
        /// A fruit is given twice.
        case repeatedFruit(fruit: Int)
    }

    /// The fields of commands, apart from the ids.
    public enum Field: String, Hashable, Sendable {
        /// An order's juice.
        case juice
        /// An order's quantity.
        case quantity
        /// A basket's items.
        case items
        /// Whether an order is taken back.
        case cancel
        /// A restock's steps.
        case add
        /// A restock's levels.
        case set
    }

    /// The codes in the field `reason` of an answer. The list is closed.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The order's juice is not on the menu.
        case unknownJuice
        /// A fruit of the restock is not on the menu.
        case unknownFruit
        /// The order's quantity is not a whole number from 1 to 100.
        case badQuantity
        /// An amount of the restock is not a whole number.
        case badAmount
        /// The restock would take a fruit below zero.
        case wouldGoNegative
        /// The restock, or the fruits of the cancelled order, would take a fruit above 1,000,000,000.
        case wouldOverflow
        /// The restock names no fruit.
        case emptyRestock
        /// The structure of the command is wrong.
        case badCommand
        /// The order was cancelled, before it came or before it was repeated.
        case cancelled
    }

    /// The code of this rejection.
    public var reason: Reason {
        switch self {
        case .unknownJuice: .unknownJuice
        case .unknownFruit: .unknownFruit
        case .badQuantity: .badQuantity
        case .badAmount: .badAmount
        case .wouldGoNegative: .wouldGoNegative
        case .wouldOverflow: .wouldOverflow
        case .emptyRestock: .emptyRestock
        case .badCommand: .badCommand
        case .cancelled: .cancelled
        }
    }

    /// The rejection that answers an edit the store did not take.
    public init(_ error: StockEditError) {
        switch error {
        case .wouldGoNegative(let fruit, let inStock): self = .wouldGoNegative(fruit: fruit, inStock: inStock)
        case .wouldOverflow(let fruit, let inStock): self = .wouldOverflow(fruit: fruit, inStock: inStock)
        }
    }
}
