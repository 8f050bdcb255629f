import JuiceMessages
import Kafka

/// How to create the service's topics.
public struct TopicPlan: Sendable, Equatable {
    /// The topics' names.
    public var names: TopicNames
    /// The number of partitions of each topic: the most workers that can share the work.
    public var partitionCount: Int
    /// The number of replicas of each partition; nil for the cluster's default.
    public var replicationFactor: Int?

    /// A plan for topics with these names.
    public init(names: TopicNames, partitionCount: Int = 4, replicationFactor: Int? = nil) {
        self.names = names
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
    }

    /// Bytes that a dead letter needs for its headers, beyond the record it quotes.
    static let deadLetterRoom = 64 * 1024
    /// Kafka's default for `max.message.bytes`, in bytes.
    static let defaultMaxMessageBytes = 1_048_588

    /// The topics to create, with the configuration they need.
    public var topics: [Admin.NewTopic] {
        names.all.map { name in
            Admin.NewTopic(
                name: name, partitionCount: partitionCount, replicationFactor: replicationFactor,
                configuration: configuration(of: name))
        }
    }

    private func configuration(of name: String) -> [String: String] {
        // A record that two brokers have confirmed survives the loss of one of them, and a third may be down at the time.
        var configuration = replicationFactor ?? 0 >= 3 ? ["min.insync.replicas": "2"] : [:]
        switch name {
        case names.stock: configuration["cleanup.policy"] = "compact"
        case names.deadLetters: configuration["max.message.bytes"] = String(Self.defaultMaxMessageBytes + Self.deadLetterRoom)
        default: break
        }
        return configuration
    }
}
