import Foundation
import JuiceEngine
import JuiceMessages
import Kafka

/// What an ``Examiner`` saw of a cluster and of the service on it, without any judgement. `juice doctor --json` prints it.
package struct Examination: Sendable, Encodable {
    /// A part that could not be seen, and why.
    package struct Failure: Sendable, Encodable {
        package let part, reason: String
        /// Whether a right is missing.
        package let isDenial: Bool

        package init(part: String, reason: String, isDenial: Bool = false) {
            (self.part, self.reason, self.isDenial) = (part, reason, isDenial)
        }
    }

    /// An input partition, and how far it is handled.
    package struct Input: Sendable, Encodable {
        package let topic: String
        package let partition: Int32
        /// The next offset by the journal.
        package var next: Offset?
        /// Where the log begins and ends, undecided transactions included; and where those begin.
        package var start: Offset = 0, end: Offset = 0, decidedEnd: Offset = 0
        /// The most commands that may wait: markers of transactions count, too.
        package var waiting: Offset = 0
        /// How many offsets were handled between two looks a second apart; nil without a second look.
        package var handled: Offset?
        /// When the first waiting command was sent, and when the first record of an undecided transaction was written.
        package var waitingSince, undecidedSince: Date?
        /// When the last handled record was answered.
        package var lastAnswered: Date?

        package init(_ place: TopicPartition) { (topic, partition) = (place.topic, place.partition) }

        var place: TopicPartition { TopicPartition(topic: topic, partition: partition) }
    }

    /// A partition that holds stores.
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
    /// Those that the cluster counts as alive.
    package var brokers: [ClusterMetadata.Broker] = []
    /// Why a broker does not answer this machine, by its address.
    package var silence: [String: String] = [:]
    /// Those that exist: the service's, and those in which Kafka keeps groups and transactions.
    package var topics: [ClusterMetadata.Topic] = []
    /// What exactly-once processing rests on. The embedded broker has no such properties.
    package var proof: [BrokerProof] = []
    /// Kafka's own topics that are needed but do not exist: brokers create them at the first request, if they can.
    package var missingTopics: [InternalTopic] = []
    package var problems: [TopicCheck.Problem] = []
    package var warnings: [TopicCheck.Problem] = []
    package var group: ConsumerGroup?
    /// Other groups that were the last to claim a partition.
    package var otherGroups: [String: ConsumerGroup] = [:]
    package var partitions: [Partition] = []
    /// Partitions of the other topics in which a transaction is open.
    package var outputs: [Input] = []
    /// Why the partitions are not checked to the end; nil if they are.
    package var unread: String?
    /// When it was done, by this machine's clock.
    package var time: Date

    package init(time: Date) { self.time = time }

    /// A topic of Kafka's own: if it cannot be written, no transaction is committed.
    package enum InternalTopic: String, CaseIterable, Sendable, Encodable {
        case groups = "__consumer_offsets"
        case transactions = "__transaction_state"

        /// The brokers' setting that says how many replicas it gets. It is not created before there are as many brokers.
        var replicationFactor: String {
            self == .groups ? "offsets.topic.replication.factor" : "transaction.state.log.replication.factor"
        }
    }

    /// What keeps brokers from coordinating groups and transactions: the worst fault, if any; nil if this client sees nothing. Ask
    /// this only while waiting for a coordinator: there is none before the first request for one.
    static func hindrances(
        _ configuration: ServiceConfiguration, _ admin: Admin, of topics: [InternalTopic] = InternalTopic.allCases
    ) -> [TopicCheck.Problem]? {
        guard configuration.capabilities.managesTopics else { return [] }
        let timeout = Duration.seconds(2)
        guard var metadata = try? admin.metadata(topics: topics.map(\.rawValue), timeout: timeout) else { return nil }
        metadata.addInternalSettings(admin, timeout: timeout)
        var seen = Examination(time: .now)
        seen.see(metadata)
        return seen.findings(configuration).filter { $0.severity == .unavailable }.prefix(1).map { .init($0.fault, fix: $0.fix) }
    }

    mutating func see(_ metadata: ClusterMetadata) {
        brokers = metadata.brokers.sorted { $0.id < $1.id }
        topics = metadata.topics.filter { $0.error == nil }
        missingTopics = metadata.topics.filter { $0.error?.code.isMissing ?? false }.compactMap { InternalTopic(rawValue: $0.name) }
    }

    /// The inputs of the partitions that are served.
    var inputs: [Input] { partitions.filter(\.isServed).flatMap(\.inputs) }
}

extension ClusterMetadata {
    /// Adds the settings of Kafka's own topics. Many clients have no right to describe these, and need none.
    mutating func addInternalSettings(_ admin: Admin, timeout: Duration) {
        let names = Examination.InternalTopic.allCases.map(\.rawValue).filter { self[$0] != nil }
        if let settings = try? admin.configurations(ofTopics: names, timeout: timeout) { add(settings: settings) }
    }
}

extension PartitionFault: Encodable {
    /// Only the reason: the rest is in the finding.
    package func encode(to encoder: any Encoder) throws { try reason.encode(to: encoder) }
}
