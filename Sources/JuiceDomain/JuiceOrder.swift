/// What a customer orders. It is made as a whole or not at all.
public enum JuiceOrder: Hashable, Sendable {
    /// One juice.
    case single(OrderItem)
    /// Several juices: 1 to ``mostItems`` of them, each once.
    case basket([OrderItem])

    /// The most items in a basket.
    public static let mostItems = 20
    /// How many juices one item may ask for.
    public static let quantities = 1...100
    /// How many of one juice a basket may hold, once items of the same juice are added up.
    public static let basketQuantities = 1...mostItems * quantities.upperBound

    /// The items: one, or those of the basket.
    public var items: [OrderItem] {
        switch self {
        case .single(let item): [item]
        case .basket(let items): items
        }
    }
}

/// A quantity of one juice.
public struct OrderItem: Hashable, Sendable {
    /// An index of ``Menu/juices``.
    public let juice: Int
    /// How many of it, at least 1.
    public let quantity: Int

    /// A quantity of a juice.
    @inlinable
    public init(juice: Int, quantity: Int) {
        self.juice = juice
        self.quantity = quantity
    }
}

extension [OrderItem] {
    /// Adds an item to those of a basket. Its quantity is added to that of an item of the same juice, if there is one.
    @inlinable @inline(__always) public mutating func add(_ item: OrderItem) {
        if let index = firstIndex(where: { $0.juice == item.juice }) {
            self[index] = OrderItem(juice: item.juice, quantity: self[index].quantity + item.quantity)
        } else {
            append(item)
        }
    }
}
