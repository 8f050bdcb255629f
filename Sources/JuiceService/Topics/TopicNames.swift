import JuiceEngine

/// The names of the service's topics: a common prefix and what each holds.
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

    /// What the names begin with unless somebody says otherwise.
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
    public var all: [String] { [orders, restocks, results, stock, deadLetters] }

    /// Those that commands are read from.
    var inputs: [String] { InputTopic.allCases.map { self[$0] } }
    /// Those that state is restored from.
    var changelogs: [String] { ChangelogTopic.allCases.map { self[$0] } }

    subscript(topic: InputTopic) -> String {
        switch topic {
        case .orders: orders
        case .restocks: restocks
        }
    }

    subscript(topic: OutputTopic) -> String {
        switch topic {
        case .results: results
        case .stock: stock
        case .deadLetters: deadLetters
        case .orders: orders
        case .restocks: restocks
        }
    }

    subscript(topic: ChangelogTopic) -> String {
        switch topic {
        case .stock: stock
        case .results: results
        }
    }
}
