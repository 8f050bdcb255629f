import JuiceEngine
import JuiceMessages
import Kafka

/// What an ``Examination`` saw of a cluster and of the service on it, without any judgement.
package struct Observations: Sendable {
    /// A part that could not be seen, and why.
    package struct Failure: Sendable {
        package let part: String
        package let reason: String
        /// Whether a right is missing.
        package var isDenial = false
    }

    /// A broker that the cluster counts as alive.
    package struct Broker: Sendable {
        package let id: Int32
        package let address: String
        /// Why it does not answer this machine; nil if it does.
        package var silence: String?
        /// Such as `3.9-IV0`; nil if it does not say. Kafka has no request for the version: it is the default of a setting.
        package var version: String?
    }

    /// A topic that exists.
    package struct Topic: Sendable {
        package let name: String
        package var partitions: [ClusterMetadata.Partition] = []
        /// Its settings by Kafka's names; nil if the brokers do not say.
        package var settings: [String: String]?

        /// Whether brokers stamp its records, and not whoever writes them.
        package var isStampedByBrokers: Bool { settings?["message.timestamp.type"] == "LogAppendTime" }
    }

    /// An input partition, and how far it is handled.
    package struct Input: Sendable {
        package let input: InputPartition
        /// The next offset, as far as the journal says.
        package var next: Offset?
        /// The next offset that the group has published; nil if none.
        package var published: Offset?
        /// From the oldest record to behind the newest one, undecided transactions included.
        package var log: Range<Offset> = 0..<0
        /// Where the undecided transactions begin, or the log's end.
        package var decidedEnd: Offset = 0
        /// The first command that waits, and when it was sent; nil if none waits.
        package var firstWaiting: (offset: Offset, sentAt: Timestamp)?
        /// The last record that was handled, when it was sent, and when it was answered.
        package var lastHandled: (offset: Offset, sentAt: Timestamp?, answeredAt: Timestamp?)?
        /// Where the log ended at the first look, and how many offsets were handled and how many more wait since; nil if it looked
        /// only once.
        package var progress: (formerEnd: Offset, handled: Offset, growth: Offset)?

        /// How many commands wait at most: markers of transactions count, too.
        package var waiting: Offset { firstWaiting == nil ? 0 : max(0, decidedEnd - (next ?? log.lowerBound)) }
    }

    /// A partition that stores live in.
    package struct Partition: Sendable {
        package let number: Int32
        /// Who claimed it last; nil if nobody has.
        package var owner: (group: String, instance: String)?
        package var inputs: [Input] = []
        /// Whether its logs have leaders that answer. Otherwise nothing is known of it.
        package var isServed = true
        /// Why an instance that takes it over now would not read it.
        package var fault: PartitionFault?
    }

    /// The newest record of a partition.
    package struct Stamp: Sendable {
        package let place: TopicPartition
        /// Whose clock it is of: `a sender's`, `the service's` or `a broker's`.
        package let clock: String
        package let offset: Offset
        package let at: Timestamp
        /// If it was written while this looked: between which times, by this machine's clock.
        package var written: ClosedRange<Timestamp>?
    }

    /// Why nothing else was seen: no broker answers.
    package var outage: String?
    package var failures: [Failure] = []
    package var clusterID: String?
    /// The broker that takes requests for the controller.
    package var controller: Int32?
    package var brokers: [Broker] = []
    package var topics: [Topic] = []
    package var topicCheck: TopicCheck.Findings?
    package var group: ConsumerGroup?
    package var partitions: [Partition] = []
    /// Why the partitions are not checked to the end, in words; nil if they are.
    package var unread: String?
    package var stamps: [Stamp] = []
    /// When it was done, by this machine's clock, in milliseconds since 1970.
    package var time: Timestamp
    /// How long the two looks at the partitions were apart, in milliseconds.
    package var watched: Timestamp = 0

    package init(time: Timestamp) { self.time = time }

    /// The inputs of the partitions of which something is known.
    package var inputs: [Input] { partitions.filter(\.isServed).flatMap(\.inputs) }

    subscript(topic name: String) -> Topic? { topics.first { $0.name == name } }
}

/// A time span for people, of so many milliseconds: `3 s`, `5 min`, `2 h`, `4 d`.
package func spanText(_ milliseconds: Timestamp) -> String {
    let seconds = max(0, milliseconds) / 1000
    return switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) d"
    }
}
