import Foundation
import JuiceAudit
import JuiceClient
import JuiceMessages
import Kafka

/// Reads the five topics of a cluster for an audit, up to the ends that they had at its start.
///
/// It joins no group and writes nothing. It is not meant for several threads: its clients belong to the thread that made it.
final class KafkaAuditSource: AuditSource, @unchecked Sendable {
    // `@unchecked`: `AuditRun` makes it and audits one partition after the other, all on one thread.

    /// Where the reading of a topic has arrived.
    private struct Position {
        var partition: Int
        var next: Offset
    }

    /// How long a command may be unanswered if nobody can tell what the service has committed.
    static let grace = Duration.seconds(60)

    /// How many records there are at most.
    let total: Int
    /// How many of them were read or passed over.
    private(set) var done = 0
    /// Whether the service's group has committed offsets. Otherwise ``grace`` decides what must be answered.
    var isGroupKnown: Bool { committed != nil }

    private let readers: [AuditTopic: TopicReader]
    private let names: [AuditTopic: String]
    private let committed: [TopicPartition: Offset?]?
    private let graceful: [TopicPartition: Offset]
    private let timeout: Duration
    private let onProgress: (_ done: Int, _ total: Int) -> Void
    private var positions: [AuditTopic: Position] = [:]

    /// Looks up the ends of the topics.
    ///
    /// The order matters. What the group has committed first has its answers, stock records and dead letters before the ends
    /// that are looked up after it. Answers come after stock records, so that the answers of each stock record are there.
    ///
    /// - Parameters:
    ///   - group: the service's consumer group.
    ///   - timeout: how long to wait for the brokers, and for open transactions to end.
    ///   - onProgress: called with how many records were read, of how many.
    init(
        _ connection: Connection,
        group: String,
        timeout: Duration,
        onProgress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(Failure) {
        let deadline = Deadline(after: timeout)
        let topics = connection.topics
        let inputs = [topics.orders, topics.restocks]
        let asker = try connection.consumer(group: group)
        defer { asker.close() }
        try connection.reach(asker, deadline: deadline)
        let partitions = try connection.ask { () throws(KafkaError) in
            try asker.partitions(of: inputs, timeout: deadline.remaining)
        }
        committed = Self.committed(asker, partitions, deadline)
        graceful = committed == nil ? try Self.graceful(connection, asker, partitions, deadline) : [:]

        let names: [AuditTopic: String] = [
            .stock: topics.stock, .deadLetters: topics.deadLetters, .results: topics.results,
            .orders: topics.orders, .restocks: topics.restocks,
        ]
        var readers: [AuditTopic: TopicReader] = [:]
        for topic in [.stock, .deadLetters, .results, .orders, .restocks] as [AuditTopic] {
            readers[topic] = try TopicReader(
                connection,
                topic: names[topic] ?? "",
                upTo: .highWatermark,
                deadline: deadline
            )
        }
        total = readers.values.reduce(0) { total, reader in
            reader.watermarks.values.reduce(total) { $0 + Int($1.high - $1.low) }
        }
        (self.names, self.readers, self.timeout, self.onProgress) = (names, readers, timeout, onProgress)
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
        return try connection.ask { () throws(KafkaError) in
            try asker.offsets(
                since: Dictionary(uniqueKeysWithValues: partitions.map { ($0, time) }),
                timeout: deadline.remaining
            )
        }
    }

    // MARK: - AuditSource

    func partitionCount(of topic: AuditTopic) -> Int { readers[topic]?.watermarks.count ?? 0 }

    func bounds(of topic: AuditTopic, partition: Int) -> AuditBounds {
        let place = TopicPartition(topic: names[topic] ?? "", partition: Int32(partition))
        // Compaction moves the first offset of the stock topic, which says nothing.
        let low = topic == .stock ? 0 : readers[topic]?.watermarks[Int32(partition)]?.low ?? 0
        guard topic == .orders || topic == .restocks else { return AuditBounds(first: low) }
        let settled = committed.map { ($0[place] ?? nil) ?? 0 } ?? graceful[place] ?? .max
        return AuditBounds(first: low, settled: settled)
    }

    func nextRecords(of topic: AuditTopic, partition: Int) throws -> [AuditRecord] {
        guard let reader = readers[topic], let ends = reader.watermarks[Int32(partition)] else { return [] }
        if positions[topic]?.partition != partition {
            positions[topic] = Position(partition: partition, next: ends.low)
            if ends.low < ends.high { try reader.start(at: [Int32(partition): ends.low]) }
        }
        var next = positions[topic]?.next ?? ends.high
        let start = next
        var records: [AuditRecord] = []
        let deadline = Deadline(after: timeout)
        while records.isEmpty, next < ends.high {
            let reached = try reader.poll(timeout: deadline.step()) { record in
                guard record.partition == Int32(partition) else { return }
                next = max(next, record.offset + 1)
                if record.offset < ends.high { records.append(AuditRecord(record)) }
            }
            if let end = reached[Int32(partition)] { next = max(next, end) }
            guard records.isEmpty, next < ends.high, deadline.isOver else { continue }
            throw Failure(
                .unavailable,
                "\(names[topic] ?? "") \(partition) cannot be read from offset \(next) to its end at \(ends.high)",
                hint: "a transaction may still be open: try again, or wait longer with --timeout"
            )
        }
        positions[topic]?.next = next
        done += Int(min(next, ends.high) - start)
        onProgress(done, total)
        return records
    }

    func record(of topic: AuditTopic, partition: Int, offset: Int64) throws -> AuditRecord? {
        guard let reader = readers[topic], let ends = reader.watermarks[Int32(partition)],
            (ends.low..<ends.high).contains(offset)
        else { return nil }
        positions[topic] = nil
        var found: AuditRecord?
        try reader.read([Int32(partition): offset..<offset + 1], idleTimeout: timeout) { record in
            found = AuditRecord(record)
        }
        return found
    }
}

extension AuditRecord {
    fileprivate init(_ record: ConsumedRecord) {
        let (key, value) = (record.key.map { Array($0) }, record.value.map { Array($0) })
        let headers = record.headers.map { AuditHeader($0.name, $0.value) }
        self.init(
            offset: record.offset,
            timestamp: record.timestamp ?? 0,
            key: key,
            value: value,
            headers: headers
        )
    }
}
