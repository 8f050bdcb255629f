import Foundation
import JuiceEngine
import JuiceMessages
import Kafka

/// The engine's view of Kafka for whoever only looks: two consumers that join no group, and no producer.
final class SurveyLog: ReadableLog {
    /// Sees past undecided transactions.
    var uncommitted: Consumer { reader.uncommitted }
    private let assignment: InputAssignment
    /// How long each call may wait.
    private let timeout: Duration
    private let topics: TopicNames
    /// Brokers that do not answer. Asking them would hold up what the others say.
    private let silent: Set<Int32>
    private let reader: LogReader

    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(
        configuration: ServiceConfiguration, assignment: InputAssignment, silent: Set<Int32>, timeout: Duration, hooks: ClientHooks
    ) throws(KafkaError) {
        (self.assignment, self.silent, self.timeout, topics) = (assignment, silent, timeout, configuration.topics)
        reader = try LogReader(configuration: configuration, hooks: hooks)
    }

    var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        try LogError.rethrowing { () throws(KafkaError) in
            let metadata = try uncommitted.metadata(topics: topics.all, timeout: timeout).withoutLeaders(silent)
            return try reader.extents(of: partitions, in: metadata, assignment: assignment, closedConnections: 0, timeout: timeout)
        }
    }

    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] {
        try LogError.rethrowing { () throws(KafkaError) in
            try uncommitted.groupOffsets(of: partitions, in: topics, timeout: timeout)
        }
    }

    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in try reader.open(positions, isolation: isolation) }
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        try LogError.rethrowing { () throws(KafkaError) in try reader.read(timeout: .milliseconds(100)) }
    }

    func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) {
        try LogError.rethrowing { () throws(KafkaError) in try reader.readBack(ranges, timeout: timeout) }
    }
}
