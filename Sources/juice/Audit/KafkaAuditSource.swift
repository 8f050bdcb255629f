import JuiceAudit
import JuiceClient
import JuiceMessages
import Kafka
import Synchronization

/// Reads the five topics of a cluster for an audit, up to the ends that they had at its start.
///
/// It joins no group and writes nothing. Partitions are read in lanes, each with its own clients: partition p in lane p modulo
/// their number. A lane reads one partition at a time.
final class KafkaAuditSource: AuditSource {
    /// The clients of one lane, and where their reading has arrived.
    private final class Lane: Sendable {
        struct State {
            let readers: [AuditTopic: TopicReader]
            /// The partition that is being read; nil is none.
            var partition: Int?
            var next: [AuditTopic: Offset] = [:]

            /// Starts to read a partition of all topics.
            mutating func start(_ partition: Int) throws(Failure) {
                self.partition = partition
                next = [:]
                for (topic, reader) in readers {
                    guard let ends = reader.watermarks[Int32(partition)] else { continue }
                    next[topic] = ends.low
                    if ends.low < ends.high { try reader.start(at: [Int32(partition): ends.low]) }
                }
            }
        }

        let state: Mutex<State>

        init(_ connection: Connection, _ extent: AuditExtent, _ deadline: Deadline) throws(Failure) {
            var readers: [AuditTopic: TopicReader] = [:]
            for (topic, watermarks) in extent.watermarks {
                let name = extent.names[topic] ?? ""
                readers[topic] = try TopicReader(
                    connection,
                    topic: name,
                    watermarks: watermarks,
                    deadline: deadline
                )
            }
            state = Mutex(State(readers: readers))
        }
    }

    /// More lanes than this would only take memory: reading and judging keep a core busy each.
    static let mostLanes = 4

    let extent: AuditExtent
    private let lanes: [Lane]
    private let timeout: Duration
    /// How many records were read or passed over.
    private let done = Mutex(0)
    private let onProgress: @Sendable (_ done: Int, _ total: Int) -> Void

    /// Looks up the ends of the topics.
    ///
    /// - Parameters:
    ///   - group: the service's consumer group.
    ///   - timeout: how long to wait for the brokers, and for open transactions to end.
    ///   - cores: how many cores there are; each gets a lane.
    ///   - onProgress: called with how many records were read, of how many, by one thread at a time.
    init(
        _ connection: Connection,
        group: String,
        timeout: Duration,
        cores: Int,
        onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(Failure) {
        let deadline = Deadline(after: timeout)
        let extent = try AuditExtent(connection, group: group, deadline: deadline)
        var lanes: [Lane] = []
        for _ in 0..<min(Self.mostLanes, max(1, cores)) {
            lanes.append(try Lane(connection, extent, deadline))
        }
        (self.extent, self.lanes, self.timeout, self.onProgress) = (extent, lanes, timeout, onProgress)
    }

    /// The partitions of each lane, of so many.
    func lanes(of partitionCount: Int) -> [StrideTo<Int>] {
        lanes.indices.map { stride(from: $0, to: partitionCount, by: lanes.count) }
    }

    private func lane(of partition: Int) -> Lane { lanes[partition % lanes.count] }

    // MARK: - AuditSource

    func partitionCount(of topic: AuditTopic) -> Int { extent.watermarks[topic]?.count ?? 0 }

    func bounds(of topic: AuditTopic, partition: Int) -> AuditBounds { extent.bounds(of: topic, partition) }

    func nextRecords(of topic: AuditTopic, partition: Int) throws -> [AuditRecord] {
        guard let ends = extent.ends(of: topic, partition) else { return [] }
        let (records, count) = try lane(of: partition).state.withLock { lane in
            try nextRecords(of: topic, partition, ends, &lane)
        }
        done.withLock { done in
            done += count
            onProgress(done, extent.total)
        }
        return records
    }

    /// - Returns: the records, and how many offsets they cover.
    private func nextRecords(
        of topic: AuditTopic,
        _ partition: Int,
        _ ends: Watermarks,
        _ lane: inout Lane.State
    ) throws -> ([AuditRecord], Int) {
        guard let reader = lane.readers[topic] else { return ([], 0) }
        if lane.partition != partition { try lane.start(partition) }
        var next = lane.next[topic] ?? ends.high
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
                "\(extent.names[topic] ?? "") \(partition) cannot be read from offset \(next) to its end at \(ends.high)",
                hint: "a transaction may still be open: try again, or wait longer with --timeout"
            )
        }
        lane.next[topic] = next
        return (records, Int(min(next, ends.high) - start))
    }

    func record(of topic: AuditTopic, partition: Int, offset: Int64) throws -> AuditRecord? {
        guard let ends = extent.ends(of: topic, partition), (ends.low..<ends.high).contains(offset) else {
            return nil
        }
        return try lane(of: partition).state.withLock { lane in
            lane.partition = nil
            var found: AuditRecord?
            try lane.readers[topic]?.read([Int32(partition): offset..<offset + 1], idleTimeout: timeout) {
                record in
                found = AuditRecord(record)
            }
            return found
        }
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
