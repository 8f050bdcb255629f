import JuiceEngine
import JuiceMessages
import Kafka

/// How to create the service's topics.
package struct TopicPlan: Sendable {
    private let names: TopicNames
    package let partitionCount: Int
    private let replicationFactor: Int?

    /// - Parameters:
    ///   - partitionCount: of each topic; also the most workers that can share the work.
    ///   - replicationFactor: nil for the cluster's default.
    package init(names: TopicNames, partitionCount: Int = 4, replicationFactor: Int? = nil) {
        (self.names, self.partitionCount, self.replicationFactor) = (names, partitionCount, replicationFactor)
    }

    /// Bytes that a dead letter needs for its headers, beyond the record it quotes.
    static let deadLetterRoom = 64 * 1024
    /// Kafka's default for `max.message.bytes`.
    static let defaultMaxMessageBytes = 1_048_588

    /// The topics to create, with the configuration they need.
    package var topics: [Admin.NewTopic] {
        names.all.map { name in
            // A record that two brokers have confirmed survives the loss of one of them, and a third may be down at the time.
            var configuration = replicationFactor ?? 0 >= 3 ? ["min.insync.replicas": "2"] : [:]
            configuration["message.timestamp.type"] = "CreateTime"
            let isInput = names.inputs.contains(name)
            // What the service writes is no earlier than its command, so it may be as far ahead, and so may its own clock.
            var limits = [TimeLimit.ahead: String(CommandTimes.furthestAhead * (isInput ? 1 : 2))]
            if isInput { limits[TimeLimit.behind] = String(CommandTimes.longestUnread) }
            if name == names.stock { configuration["cleanup.policy"] = "compact" }
            if name == names.deadLetters {
                configuration["max.message.bytes"] = String(Self.defaultMaxMessageBytes + Self.deadLetterRoom)
            }
            return Admin.NewTopic(
                name: name, partitionCount: partitionCount, replicationFactor: replicationFactor, configuration: configuration,
                optional: limits)
        }
    }
}

/// The settings by which brokers judge the clocks of producers (KIP-937). Where they are set, no other clock needs to be right.
enum TimeLimit {
    static let ahead = "message.timestamp.after.max.ms"
    static let behind = "message.timestamp.before.max.ms"
}
