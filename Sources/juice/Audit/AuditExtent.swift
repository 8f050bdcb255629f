import Foundation
import JuiceAudit
import JuiceClient
import JuiceMessages
import Kafka

/// Which records of the five topics an audit reads, and which of them it can judge, as it was when the audit began.
struct AuditExtent: Sendable {
    /// How long a command may be unanswered if nobody can tell what the service has committed.
    static let grace = Duration.seconds(60)

    /// The names of the topics.
    let names: [AuditTopic: String]
    /// The starts and ends of the topics' partitions.
    let watermarks: [AuditTopic: [Int32: Watermarks]]
    private let committed: [TopicPartition: Offset?]?
    private let graceful: [TopicPartition: Offset]

    /// Looks up the ends of the topics.
    ///
    /// The order matters. What the group has committed first has its answers, stock records and dead letters before the ends
    /// that are looked up after it. Answers come after stock records, so that the answers of each stock record are there.
    ///
    /// - Parameter group: the service's consumer group.
    init(_ connection: Connection, group: String, deadline: Deadline) throws(Failure) {
        let topics = connection.topics
        let asker = try connection.consumer(group: group)
        defer { asker.close() }
        try connection.reach(asker, deadline: deadline)
        let partitions = try connection.ask(asker, until: deadline) { () throws(KafkaError) in
            try asker.partitions(of: [topics.orders, topics.restocks], timeout: deadline.remaining)
        }
        committed = Self.committed(asker, partitions, deadline)
        graceful = committed == nil ? try Self.graceful(connection, asker, partitions, deadline) : [:]
        names = [
            .stock: topics.stock, .deadLetters: topics.deadLetters, .results: topics.results,
            .orders: topics.orders, .restocks: topics.restocks,
        ]
        var watermarks: [AuditTopic: [Int32: Watermarks]] = [:]
        for topic in [.stock, .deadLetters, .results, .orders, .restocks] as [AuditTopic] {
            let reader = try TopicReader(
                connection,
                topic: names[topic] ?? "",
                upTo: .highWatermark,
                deadline: deadline
            )
            watermarks[topic] = reader.watermarks
        }
        self.watermarks = watermarks
    }

    /// What the group has committed; nil if it has committed nothing, or this user may not ask.
    private static func committed(
        _ asker: Consumer,
        _ partitions: [TopicPartition],
        _ deadline: Deadline
    ) -> [TopicPartition: Offset?]? {
        let committed = try? asker.committed(partitions, timeout: deadline.remaining)
        guard let committed, committed.values.contains(where: { $0 != nil }) else { return nil }
        return committed
    }

    private static func graceful(
        _ connection: Connection,
        _ asker: Consumer,
        _ partitions: [TopicPartition],
        _ deadline: Deadline
    ) throws(Failure) -> [TopicPartition: Offset] {
        let time = Int64(Date().timeIntervalSince1970 * 1000) - Int64(grace / .milliseconds(1))
        return try connection.ask(asker, until: deadline) { () throws(KafkaError) in
            try asker.offsets(
                since: Dictionary(uniqueKeysWithValues: partitions.map { ($0, time) }),
                timeout: deadline.remaining
            )
        }
    }

    /// Whether the service's group has committed offsets. Otherwise ``grace`` decides what must be answered.
    var isGroupKnown: Bool { committed != nil }

    /// How many records there are at most.
    var total: Int {
        watermarks.values.joined().reduce(0) { $0 + Int($1.value.high - $1.value.low) }
    }

    /// Where the log of a partition starts and ends; nil if there is no such partition.
    func ends(of topic: AuditTopic, _ partition: Int) -> Watermarks? {
        watermarks[topic]?[Int32(clamping: partition)]
    }

    /// Which records of a partition can be judged.
    func bounds(of topic: AuditTopic, _ partition: Int) -> AuditBounds {
        let place = TopicPartition(topic: names[topic] ?? "", partition: Int32(partition))
        // Compaction moves the first offset of the stock topic, which says nothing.
        let low = topic == .stock ? 0 : ends(of: topic, partition)?.low ?? 0
        guard topic == .orders || topic == .restocks else { return AuditBounds(first: low) }
        let settled = committed.map { ($0[place] ?? nil) ?? 0 } ?? graceful[place] ?? .max
        return AuditBounds(first: low, settled: settled)
    }
}
