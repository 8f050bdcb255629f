import JuiceMessages
import Kafka

/// How the service's topics are made.
public struct TopicPlan: Sendable, Equatable {
    /// The topics' names.
    public var names: TopicNames
    /// Partitions of each topic: the most workers that can share the work.
    public var partitionCount: Int
    /// Copies kept of each partition; nil is the cluster's default.
    public var replicationFactor: Int?

    /// A plan for topics of one partition count.
    public init(names: TopicNames, partitionCount: Int = 4, replicationFactor: Int? = nil) {
        self.names = names
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
    }

    /// Room that a dead letter needs beyond the record it quotes: its headers.
    static let deadLetterRoom = 64 * 1024
    /// Kafka's default for `max.message.bytes`, in bytes.
    static let defaultMaxMessageBytes = 1_048_588

    /// The topics with the configuration they need.
    public var topics: [Admin.NewTopic] {
        names.all.map { name in
            Admin.NewTopic(
                name: name,
                partitionCount: partitionCount,
                replicationFactor: replicationFactor,
                configuration: configuration(of: name)
            )
        }
    }

    private func configuration(of name: String) -> [String: String] {
        // What two brokers have confirmed survives either, and a third may be down meanwhile.
        var configuration = replicationFactor ?? 0 >= 3 ? ["min.insync.replicas": "2"] : [:]
        switch name {
        case names.stock: configuration["cleanup.policy"] = "compact"
        case names.deadLetters:
            configuration["max.message.bytes"] = String(Self.defaultMaxMessageBytes + Self.deadLetterRoom)
        default: break
        }
        return configuration
    }
}
