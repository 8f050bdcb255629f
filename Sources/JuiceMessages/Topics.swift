/// The topics of the contract, in its order.
public enum Topic: Int, Sendable, CaseIterable {
    /// Orders from POS systems, and those forwarded to the partition that owns their store.
    case orders
    /// Stock edits from restock bots, and those forwarded likewise.
    case restocks
    /// One answer per command.
    case results
    /// The changelog of the stores: each store's whole stock after its last change.
    case stock
    /// Records that name no command.
    case deadLetters
}

extension Topic: Encodable {
    /// The topic's name without a prefix, such as `dead-letters`.
    package var name: String { self == .deadLetters ? "dead-letters" : "\(self)" }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws { try name.encode(to: encoder) }
}

/// The names of the topics: a common prefix and each topic's own name.
package struct TopicNames: Sendable, Equatable {
    package static let standardPrefix = "juice."

    /// All topics, in the order of ``Topic``.
    package let all: [String]

    package init(prefix: String = standardPrefix) { all = Topic.allCases.map { prefix + $0.name } }

    package subscript(topic: Topic) -> String { all[topic.rawValue] }

    package var orders: String { self[.orders] }
    package var restocks: String { self[.restocks] }
    package var results: String { self[.results] }
    package var stock: String { self[.stock] }
    package var deadLetters: String { self[.deadLetters] }

    /// The input with this name; nil if it is another topic.
    package func input(named name: String) -> InputTopic? { InputTopic.allCases.first { self[$0.topic] == name } }
}

/// The topics that commands are read from.
public enum InputTopic: Int, Sendable, CaseIterable {
    case orders, restocks

    /// The same topic among all topics.
    public var topic: Topic { self == .orders ? .orders : .restocks }

    /// Its name in the journal, which never has the prefix.
    public var name: StaticString { self == .orders ? "orders" : "restocks" }

    init?(name: BorrowedText) {
        guard let topic = Self.allCases.first(where: { BorrowedText($0.name) == name }) else { return nil }
        self = topic
    }
}
