import JuiceMessages
import Kafka

/// Reads all partitions of one topic, without a consumer group. It reads committed records only.
final class TopicReader {
    /// Which offset counts as the end of a partition.
    enum End {
        /// The last stable offset: before the first record of an open transaction.
        case lastStableOffset
        /// The end of the log. Reading up to there waits for open transactions to end.
        case highWatermark
    }

    /// The start and end of each partition's log when the reader was created.
    let watermarks: [TopicPartition: Range<Offset>]

    private let topic: String
    private let clients: KafkaClients
    private let consumer: Consumer
    /// How long to wait for brokers, and for the next records.
    private let timeout: Duration
    private var assigned: [TopicPartition] = []
    private var fullPolls = 0

    private static let mostRecords = 1000
    /// How many polls that find as many records as they may pass between two requests to fetch on. librdkafka's queue holds more.
    private static let pollsToFetchOn = 16

    /// Looks up where the topic's partitions start and end.
    ///
    /// - Parameters:
    ///   - store: reads only the partition that holds this store's answers and stock; nil reads all partitions.
    ///   - end: which offsets are the ends; nil looks up neither starts nor ends.
    init(
        _ clients: KafkaClients, topic: String, of store: String? = nil, upTo end: End? = .lastStableOffset, timeout: Duration
    ) throws(Failure) {
        (self.topic, self.clients, self.timeout) = (topic, clients, timeout)
        let deadline = Deadline(after: timeout)
        let consumer = try clients.consumer()
        self.consumer = consumer
        try clients.reach(consumer, deadline: deadline)
        let isSeparate = end == .highWatermark
        let asker = isSeparate ? try clients.consumer(isolation: "read_uncommitted") : consumer
        defer { if isSeparate { asker.close() } }
        watermarks = try clients.ask(asker, until: deadline) { () throws(KafkaError) in
            // Otherwise librdkafka looks up the leaders of the first partitions up to a second after they are assigned.
            var partitions = try asker.partitions(of: [topic], timeout: deadline.remaining)
            guard end != nil else { return [:] }
            if let store {
                // Stores live in the partitions of the stock topic. Other topics may have got more since.
                let count = try asker.partitions(of: [clients.topics.stock], timeout: deadline.remaining).count
                let home = Array(store.utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: Int32(clamping: max(1, count))) }
                partitions.removeAll { $0.partition != home }
            }
            return try asker.watermarks(of: partitions, timeout: deadline.remaining)
        }
    }

    /// Assigns these partitions, and no others, from these offsets on.
    func start(at offsets: [TopicPartition: Offset]) throws(Failure) {
        try clients.call(try consumer.assign(offsets))
        assigned = Array(offsets.keys)
    }

    /// Reads what follows the ends in ``watermarks``.
    func startAtEnds() throws(Failure) { try start(at: watermarks.mapValues(\.upperBound)) }

    /// Calls `body` with each available record, after waiting up to `timeout` for the first one.
    ///
    /// - Returns: the partitions whose end was reached, with the next offset.
    @discardableResult
    func poll(timeout: Duration, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) -> [TopicPartition: Offset] {
        let batch = try clients.call(try consumer.poll(maxRecords: Self.mostRecords, timeout: timeout))
        if batch.count == Self.mostRecords {
            fullPolls += 1
            if fullPolls % Self.pollsToFetchOn == 0 { consumer.fetchOn(from: assigned) }
        }
        var ends: [TopicPartition: Offset] = [:]
        for element in batch {
            switch element {
            case .record(let record): try body(record)
            case .endOfPartition(let partition, let next): ends[partition] = next
            case .failure(_, let error) where error.remedy == .retry: clients.watch.noticed(error)
            // librdkafka looks up the coordinator of its group id although it joins no group. That needs no permission.
            case .failure(_, let error) where error.code == .groupAuthorizationFailed: continue
            case .failure(_, let error): throw clients.failure(error)
            }
        }
        return ends
    }

    /// Reads what follows the ends in ``watermarks`` until asked to stop. Shows what was found among the records at hand, and tells
    /// on standard error since when no broker answers, so that nobody takes old data for new.
    func follow<Found>(
        until stop: StopSignal, _ find: (ConsumedRecord) -> Found?, show: ([Found]) -> Void
    ) throws(Failure) {
        try startAtEnds()
        var notice = OutageNotice(watch: clients.watch)
        while !stop.isRequested {
            var found: [Found] = []
            let ends = try poll(timeout: .milliseconds(100)) { record in
                notice.heard()
                if let new = find(record) { found.append(new) }
            }
            if !ends.isEmpty { notice.heard() }
            if !found.isEmpty { show(found) }
            notice.update(asking: consumer)
        }
    }

    /// Reads ranges of offsets completely, in order within each partition.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable`` if nothing arrives for the reader's timeout.
    func read(_ ranges: [TopicPartition: Range<Offset>], _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) {
        var unread = UnreadRanges(ranges)
        try start(at: ranges.filter { !$0.value.isEmpty }.mapValues(\.lowerBound))
        var deadline = Deadline(after: timeout)
        while !unread.isEmpty {
            var hasRead = false
            let ends = try poll(timeout: deadline.step()) { record throws(Failure) in
                hasRead = true
                let partition = TopicPartition(topic: topic, partition: record.partition)
                if ranges[partition]?.contains(record.offset) ?? false { try body(record) }
                unread.passed(partition, next: record.offset + 1)
            }
            for (partition, next) in ends { unread.passed(partition, next: next) }
            if hasRead || !ends.isEmpty {
                deadline = Deadline(after: timeout)
            } else if deadline.isOver {
                let reason = "nothing more of \(topic) has come for \(timeout.inSeconds)"
                throw clients.failure(KafkaError(code: .timedOut, message: reason, isRetriable: true))
            }
        }
    }

    /// Reads everything up to the ends in ``watermarks``, in order within each partition.
    ///
    /// - Parameter time: begins in each partition with the first record at or after this, in milliseconds since 1970; nil begins at
    ///   the start.
    func readAll(since time: Int64? = nil, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) {
        guard let time else { return try read(watermarks, body) }
        let starts = try starts(since: time)
        let later = watermarks.map { ($0, $1.clamped(to: (starts[$0] ?? $1.upperBound)..<Offset.max)) }
        var begun: Set<Int32> = []
        try read(Dictionary(uniqueKeysWithValues: later)) { record throws(Failure) in
            guard begun.contains(record.partition) || record.timestamp ?? time >= time else { return }
            begun.insert(record.partition)
            try body(record)
        }
    }

    /// The offset of each partition's first record at or after a time, and none for a partition without one. From a broker that
    /// finds no offsets by time, the starts of the partitions.
    private func starts(since time: Int64) throws(Failure) -> [TopicPartition: Offset] {
        guard clients.capabilities.findsOffsetsByTime else { return watermarks.mapValues(\.lowerBound) }
        let times = watermarks.mapValues { _ in time }
        let deadline = Deadline(after: timeout)
        return try clients.ask(consumer, until: deadline) { () throws(KafkaError) in
            try consumer.offsets(since: times, timeout: deadline.remaining)
        }
    }

    /// Finds the last `count` matching records.
    ///
    /// Transaction markers and other records take offsets too, so it is unknown how far back the matches are. The window before the
    /// ends grows until it holds enough of them, or the whole log.
    ///
    /// - Parameter find: reads a window and returns its matches, oldest first.
    func last<Found>(
        _ count: Int, _ find: (_ window: [TopicPartition: Range<Offset>]) throws(Failure) -> [Found]
    ) throws(Failure) -> [Found] {
        guard count > 0 else { return [] }
        var size = Offset(clamping: count) * 2 + 64
        while true {
            let window = watermarks.mapValues { max($0.lowerBound, $0.upperBound - size)..<$0.upperBound }
            let found = try find(window)
            let isAll = watermarks.allSatisfy { window[$0.key]?.lowerBound == $0.value.lowerBound }
            if found.count >= count || isAll { return found.suffix(count) }
            size *= 8
        }
    }
}

/// Tells on standard error since when no broker answers, and since when one does again.
private struct OutageNotice {
    let watch: BrokerWatch
    private var isOut = false
    private var heardAt = ContinuousClock.now

    /// A broker that hangs breaks no connection. So brokers are asked after they were silent for this long.
    private static let longestSilence = Duration.seconds(2)

    init(watch: BrokerWatch) { self.watch = watch }

    /// Something has come from a broker.
    mutating func heard() { heardAt = .now }

    mutating func update(asking consumer: Consumer) {
        guard watch.needsProbe || .now - heardAt > Self.longestSilence else { return }
        if watch.probe(consumer, timeout: .seconds(1)) { heard() }
        let outage = watch.outage
        guard (outage != nil) != isOut else { return }
        isOut = outage != nil
        StandardError.write("since \(ClockTime.now) \(outage ?? "Kafka answers again")\n")
    }
}
