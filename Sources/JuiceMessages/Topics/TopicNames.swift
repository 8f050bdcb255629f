/// The topics of the contract, in its order.
public enum Topic: Int, Sendable, CaseIterable {
    /// Orders from POS systems, and those forwarded to the partition that owns their store.
    case orders
    /// Stock edits from restock bots, and those forwarded likewise.
    case restocks
    /// One answer per command.
    case results
    /// The changelog of the stores: each one's whole stock after its last change.
    case stock
    /// Records that name no command, or whose answer no broker would take.
    case deadLetters
}

/// The names of the topics: a common prefix and what each holds.
public struct TopicNames: Sendable, Equatable {
    /// Orders from POS systems.
    public let orders: String
    /// Stock edits from restock bots.
    public let restocks: String
    /// One answer per command.
    public let results: String
    /// Each store's whole stock after its last change; compacted.
    public let stock: String
    /// Records that name no command.
    public let deadLetters: String

    /// The default prefix.
    public static let standardPrefix = "juice."

    /// The topics with this prefix.
    public init(prefix: String = standardPrefix) {
        orders = prefix + "orders"
        restocks = prefix + "restocks"
        results = prefix + "results"
        stock = prefix + "stock"
        deadLetters = prefix + "dead-letters"
    }

    /// All topics, in the order of the contract.
    public var all: [String] { Topic.allCases.map { self[$0] } }

    /// The name of a topic.
    public subscript(topic: Topic) -> String {
        switch topic {
        case .orders: orders
        case .restocks: restocks
        case .results: results
        case .stock: stock
        case .deadLetters: deadLetters
        }
    }
}
