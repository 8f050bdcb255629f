import JuiceAudit
import JuiceMessages
import Kafka
import Synchronization

/// Reads the five topics of a cluster for an audit, up to the ends that they had at its start.
///
/// It joins no group and writes nothing. Partitions are read in lanes, at the same time: partition p in lane p modulo their
/// number. A lane has a client for each partition that is being read, which is used again for another one.
final class KafkaAuditSource: AuditSource {
    private struct Place: Hashable {
        let topic: AuditTopic
        let partition: Int
    }

    private final class Lane: Sendable {
        struct Reading {
            let reader: TopicReader
            /// Where the next records will be asked for, and how far the log is read.
            var asked: Offset
            var next: Offset
        }

        struct State {
            var readings: [Place: Reading] = [:]
            var idle: [AuditTopic: [TopicReader]] = [:]
            /// Up to where records were counted. Some are read again.
            var counted: [Place: Offset] = [:]
        }

        let state = Mutex(State())
    }

    /// More lanes than this would only take memory: reading and judging keep a core busy each.
    private static let mostLanes = 4

    private let connection: Connection
    private let names: [AuditTopic: String]
    /// The starts and ends of the topics' partitions.
    private let watermarks: [AuditTopic: [Int32: Watermarks]]
    private let lanes: [Lane]
    private let timeout: Duration
    /// How many records were read or passed over.
    private let done = Mutex(0)
    private let onProgress: @Sendable (_ done: Int, _ total: Int) -> Void

    /// Looks up the ends of the topics.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the brokers, and for open transactions to end.
    ///   - cores: how many cores there are; each gets a lane.
    ///   - onProgress: called with how many records were read, of how many, by one thread at a time.
    init(
        _ connection: Connection, timeout: Duration, cores: Int,
        onProgress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(Failure) {
        let (topics, deadline) = (connection.topics, Deadline(after: timeout))
        let names: [AuditTopic: String] = [
            .stock: topics.stock, .deadLetters: topics.deadLetters, .results: topics.results,
            .orders: topics.orders, .restocks: topics.restocks,
        ]
        var watermarks: [AuditTopic: [Int32: Watermarks]] = [:]
        // The order matters. The stock follows the journal, so its end is looked up before. What the journal tells of was there
        // before it, so those ends are looked up after.
        for topic in [.stock, .results, .deadLetters, .orders, .restocks] as [AuditTopic] {
            let name = names[topic] ?? ""
            watermarks[topic] = try TopicReader(connection, topic: name, upTo: .highWatermark, deadline: deadline).watermarks
        }
        lanes = (0..<min(Self.mostLanes, max(1, cores))).map { _ in Lane() }
        (self.connection, self.names, self.watermarks) = (connection, names, watermarks)
        (self.timeout, self.onProgress) = (timeout, onProgress)
    }

    /// The partitions of each lane, of so many.
    func lanes(of partitionCount: Int) -> [StrideTo<Int>] {
        lanes.indices.map { stride(from: $0, to: partitionCount, by: lanes.count) }
    }

    private func ends(_ place: Place) -> Watermarks? {
        watermarks[place.topic]?[Int32(clamping: place.partition)]
    }

    /// How many records there are at most.
    private var total: Int { watermarks.values.joined().reduce(0) { $0 + Int($1.value.high - $1.value.low) } }

    // MARK: - AuditSource

    func partitionCount(of topic: AuditTopic) -> Int { watermarks[topic]?.count ?? 0 }

    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 {
        ends(Place(topic: topic, partition: partition))?.low ?? 0
    }

    func records(of topic: AuditTopic, partition: Int, from offset: Int64) throws -> [AuditRecord] {
        let place = Place(topic: topic, partition: partition)
        guard let ends = ends(place) else { return [] }
        let (records, count) = try lanes[partition % lanes.count].state.withLock { lane in
            try read(place, from: max(offset, ends.low), to: ends.high, &lane)
        }
        done.withLock { done in
            done += count
            onProgress(done, total)
        }
        return records
    }

    /// - Returns: the records, and how many offsets they cover that were not covered before.
    private func read(_ place: Place, from start: Offset, to end: Offset, _ lane: inout Lane.State) throws -> ([AuditRecord], Int) {
        let known = lane.readings.removeValue(forKey: place)
        var reading: Lane.Reading
        if let known, known.asked == start || start >= end {
            reading = known
        } else {
            if let known { lane.idle[place.topic, default: []].append(known.reader) }
            guard start < end else { return ([], 0) }
            let reader = try lane.idle[place.topic]?.popLast() ?? newReader(place.topic)
            try reader.start(at: [Int32(place.partition): start])
            reading = Lane.Reading(reader: reader, asked: start, next: start)
        }
        let deadline = Deadline(after: timeout)
        var records: [AuditRecord] = []
        while records.isEmpty, reading.next < end {
            var next = reading.next
            let reached = try reading.reader.poll(timeout: deadline.step()) { record in
                guard record.partition == Int32(place.partition) else { return }
                next = max(next, record.offset + 1)
                if record.offset < end { records.append(AuditRecord(record)) }
            }
            reading.next = max(next, reached[Int32(place.partition)] ?? 0)
            guard records.isEmpty, reading.next < end, deadline.isOver else { continue }
            throw Failure(
                .unavailable,
                "\(names[place.topic] ?? "") \(place.partition) cannot be read from offset \(reading.next) to its end at \(end)",
                hint: "a transaction may still be open: try again, or wait longer with --timeout")
        }
        if let last = records.last { reading.asked = last.offset + 1 }
        if records.isEmpty { lane.idle[place.topic, default: []].append(reading.reader) } else { lane.readings[place] = reading }
        let (before, now) = (lane.counted[place] ?? start, min(reading.next, end))
        lane.counted[place] = max(before, now)
        return (records, Int(max(before, now) - before))
    }

    private func newReader(_ topic: AuditTopic) throws(Failure) -> TopicReader {
        try TopicReader(
            connection, topic: names[topic] ?? "", watermarks: watermarks[topic] ?? [:], deadline: Deadline(after: timeout))
    }
}

extension AuditRecord {
    fileprivate init(_ record: ConsumedRecord) {
        let (key, value) = (record.key.map { Array($0) }, record.value.map { Array($0) })
        let headers = record.headers.map { AuditHeader($0.name, $0.value) }
        self.init(offset: record.offset, timestamp: record.timestamp ?? 0, key: key, value: value, headers: headers)
    }
}
