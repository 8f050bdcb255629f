import Foundation
import JuiceEngine
import JuiceMessages
import Kafka

/// What an ``Examination`` saw of a cluster and of the service on it, without any judgement. `juice doctor --json` prints it.
package struct Observations: Sendable, Encodable {
    /// A part that could not be seen, and why.
    package struct Failure: Sendable, Encodable {
        package let part, reason: String
        /// Whether a right is missing.
        package var isDenial = false
    }

    /// A broker that the cluster counts as alive.
    package struct Broker: Sendable, Encodable {
        package let id: Int32
        package let address: String
        /// Why it does not answer this machine; nil if it does.
        package var silence: String?
        /// Such as `3.9-IV0`; nil if it does not say. Kafka has no request for the version: it is the default of a setting.
        package var version: String?
    }

    /// A topic that exists: one of the service's, or one in which Kafka keeps groups and transactions.
    package struct Topic: Sendable, Encodable {
        package let name: String
        package var partitions: [ClusterMetadata.Partition] = []
        /// By Kafka's names; nil if the brokers do not say.
        package var settings: [String: String]?
    }

    /// A place in a log, and when what is there was written.
    package struct Record: Sendable, Encodable {
        package let offset: Offset
        package let time: Date
    }

    /// An input partition, and how far it is handled.
    package struct Input: Sendable, Encodable {
        package let topic: String
        package let partition: Int32
        /// The next offset by the journal, and the one that the group has published for monitors.
        package var next, published: Offset?
        /// Where the log begins and ends, undecided transactions included; and where those begin.
        package var start: Offset = 0, end: Offset = 0, decidedEnd: Offset = 0
        /// How many commands wait at most: markers of transactions count, too.
        package var waiting: Offset = 0
        /// The first command that waits, and the first record of an undecided transaction.
        package var firstWaiting, firstUndecided: Record?
        /// The last record that was handled, when it was sent, and when it was answered.
        package var lastHandled: Offset?
        package var lastSent, lastAnswered: Date?
        /// Where the log ended at the first look, and how many offsets have been handled since; nil if it looked only once.
        package var formerEnd, handled: Offset?

        package init(_ place: TopicPartition) { (topic, partition) = (place.topic, place.partition) }

        var place: TopicPartition { TopicPartition(topic: topic, partition: partition) }
    }

    /// A partition that stores live in.
    package struct Partition: Sendable, Encodable {
        package let number: Int32
        /// The group and the instance of the last claim; nil if it has no claim.
        package var group, instance: String?
        package var inputs: [Input] = []
        /// Whether its logs have leaders that answer. Otherwise nothing is known of it.
        package var isServed = true
        /// Why an instance that takes it over now would not read it.
        package var fault: PartitionFault?
    }

    /// Why nothing else was seen: no broker answers.
    package var outage: String?
    package var failures: [Failure] = []
    package var clusterID: String?
    /// The broker that takes requests for the controller.
    package var controller: Int32?
    package var brokers: [Broker] = []
    package var topics: [Topic] = []
    package var problems: [TopicCheck.Problem] = []
    package var warnings: [TopicCheck.Problem] = []
    package var group: ConsumerGroup?
    package var partitions: [Partition] = []
    /// Partitions of the other topics with transactions that are undecided.
    package var outputs: [Input] = []
    /// Why the partitions are not checked to the end; nil if they are.
    package var unread: String?
    /// When it was done, by this machine's clock.
    package var time: Date
    /// How long the two looks at the partitions were apart, in seconds; 0 if it looked only once.
    package var watched: TimeInterval = 0

    package init(time: Date) { self.time = time }

    /// The inputs of the partitions of which something is known.
    var inputs: [Input] { partitions.filter(\.isServed).flatMap(\.inputs) }
}

extension PartitionFault: Encodable {
    /// Only the reason: the rest is in the finding.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(reason)
    }
}

/// A time span for people, in whole units: `90 s`, `45 min`, `26 h`, `12 days`.
package func spanText(_ seconds: TimeInterval) -> String {
    let (unit, name): (TimeInterval, String) =
        switch seconds {
        case ..<119.5: (1, "s")
        case ..<(119.5 * 60): (60, "min")
        case ..<(47.5 * 3_600): (3_600, "h")
        default: (86_400, "days")
        }
    return "\(Int((max(0, seconds) / unit).rounded())) \(name)"
}
