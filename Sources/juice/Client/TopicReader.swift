import Foundation
import JuiceMessages
import Kafka

typealias Logs = [TopicPartition: Range<Offset>]

/// Reads all partitions of some topics for a command, without a consumer group. It reads only committed records, and skips
/// unreadable offsets with a warning on standard error.
final class TopicReader {
    /// The start and end of each partition's log when the reader was created.
    let watermarks: Logs

    private let clients: KafkaClients
    private let reader: PartitionReader
    private var reportedGaps = 0
    private var hasReportedMissing = false

    /// After a silence of this length, it asks brokers whether they answer.
    private static let longestSilence = Duration.seconds(2)

    /// Looks up where the topics' partitions start and end.
    ///
    /// - Parameters:
    ///   - store: reads only the partition of the results that holds this store's answers; nil reads all partitions.
    ///   - waitsForTransactions: whether the ends are those of the logs: reading up to them waits until open transactions have
    ///     ended. Otherwise the ends are before the first record of an open transaction (KIP-98).
    init(
        _ clients: KafkaClients, topic topics: String..., of store: String? = nil, waitsForTransactions: Bool = false
    ) throws(Failure) {
        self.clients = clients
        // Reports offsets that have expired, instead of skipping them in silence.
        let consumer = try clients.consumer(reset: "error")
        reader = PartitionReader(consumer, gaps: .pass, onTransientError: clients.watch.noticed)
        try clients.reach(consumer)
        let uncommitted = try clients.consumer(isolation: "read_uncommitted")
        defer { uncommitted.close() }
        let asker = waitsForTransactions ? uncommitted : consumer
        watermarks = try clients.ask(asker) { timeout throws(KafkaError) in
            // Otherwise librdkafka would look up the leaders of the first partitions as late as a second after their assignment.
            var partitions = try asker.partitions(of: topics, timeout: timeout)
            if let store {
                // The partitions of the stock topic own the stores. Other topics may have more by now.
                let count = try asker.partitions(of: [clients.topics.stock], timeout: timeout).count
                let owner = Array(store.utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: Int32(clamping: max(1, count))) }
                partitions.removeAll { $0.topic == clients.topics.results && $0.partition != owner }
            }
            return try asker.watermarks(of: partitions, timeout: timeout)
        }
        if !waitsForTransactions { try reportOpenTransactions(uncommitted) }
    }

    /// Warns of open transactions, which hide later records. The service's own end in a moment.
    private func reportOpenTransactions(_ uncommitted: Consumer) throws(Failure) {
        let ends = try clients.ask(uncommitted) { timeout throws(KafkaError) in
            try uncommitted.endOffsets(of: Array(watermarks.keys), timeout: timeout)
        }
        var open = watermarks.mapValues(\.upperBound).filter { $0.value < ends[$0.key] ?? 0 }
        let deadline = Deadline(after: .milliseconds(500))
        while !open.isEmpty, !deadline.isOver {
            Thread.sleep(forTimeInterval: 0.02)
            let stable = try clients.ask(reader.consumer) { timeout throws(KafkaError) in
                try reader.consumer.endOffsets(of: Array(open.keys), timeout: timeout)
            }
            open = open.filter { stable[$0.key] == $0.value }
        }
        for (place, offset) in open.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            StandardError.write("warning: a transaction is open in \(place) since offset \(offset): later records are not shown\n")
        }
    }

    var gaps: [PartitionReader.Gap] { reader.gaps }

    /// Follows the records after the ends in ``watermarks``.
    func startAtEnds() throws(Failure) { try clients.call(try reader.start(at: watermarks.mapValues(\.upperBound))) }

    /// Calls `body` with each available record, after waiting up to `timeout` for the first one.
    ///
    /// - Returns: the partitions whose end was reached, with the next offset.
    @discardableResult
    func poll(timeout: Duration, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) -> [TopicPartition: Offset] {
        let records = try clients.call(try reader.poll(timeout: timeout))
        for record in records { try body(record) }
        reportGaps()
        return records.ends
    }

    /// Follows the records after the ends in ``watermarks``, by default until a signal ends the process. Shows the matches of each
    /// poll. While nothing arrives it asks brokers, so that ``KafkaClients/watch`` says when none answers: old data must not pass
    /// for new.
    func follow<Found>(
        until stop: StopSignal = StopSignal(), _ find: (ConsumedRecord) -> Found?, show: ([Found]) -> Void
    ) throws(Failure) {
        try startAtEnds()
        var heardAt = ContinuousClock.now
        while !stop.isRequested {
            var found: [Found] = []
            let ends = try poll(timeout: .milliseconds(100)) { record in
                heardAt = .now
                if let new = find(record) { found.append(new) }
            }
            if !ends.isEmpty { heardAt = .now }
            if !found.isEmpty { show(found) }
            StandardOutput.endIfUnread()
            // A broker that hangs breaks no connection.
            if clients.watch.needsProbe || .now - heardAt > Self.longestSilence,
                clients.watch.probe(reader.consumer, timeout: .seconds(1))
            {
                heardAt = .now
                reportMissingTopics()
            }
        }
    }

    /// Warns once of topics that were deleted. They may come back.
    private func reportMissingTopics() {
        do throws(KafkaError) {
            _ = try reader.consumer.partitions(of: Set(watermarks.keys.map(\.topic)).sorted(), timeout: .seconds(1))
            hasReportedMissing = false
        } catch {
            guard error.code.isMissing, !hasReportedMissing else { return }
            clients.logger.warning("\(error.message)")
            hasReportedMissing = true
        }
    }

    /// Reads ranges of offsets completely, in order within each partition.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable`` if nothing arrives for the clients' timeout.
    func read(_ ranges: Logs, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) {
        try clients.call(try reader.start(ranges))
        while let records = try clients.call(try reader.next(until: .now + clients.timeout)) {
            for record in records { try body(record) }
            reportGaps()
        }
        reportGaps()
    }

    private func reportGaps() {
        for gap in gaps.dropFirst(reportedGaps) {
            let reason = gap.error.code.isDamage ? "cannot be read: \(gap.error.message)" : "have expired"
            let (first, last) = (gap.offsets.lowerBound, gap.offsets.upperBound - 1)
            StandardError.write("warning: offsets \(first) to \(last) of \(gap.partition) \(reason)\n")
        }
        reportedGaps = gaps.count
    }
}

// MARK: - By time

extension TopicReader {
    /// A period, in milliseconds since 1970.
    typealias Period = Range<Int64>

    /// All times that a record can have.
    static let always: Period = 0..<Int64.max

    /// Reads the records of a period in order of time.
    ///
    /// - Parameters:
    ///   - find: converts a record; nil skips it.
    ///   - body: receives each result.
    func read<Found>(
        in period: Period = always, _ find: (ConsumedRecord) -> Found?, _ body: (Found) -> Void
    ) throws(Failure) {
        try visit(period) { window, _ throws(Failure) in
            try found(in: window, of: period, find).forEach(body)
            return true
        }
    }

    /// The last matching records of a period, oldest first.
    func last<Found>(
        _ count: Int, in period: Period = always, _ find: (ConsumedRecord) -> Found?
    ) throws(Failure) -> [Found] {
        var last: [Found] = []
        try visit(period, newestFirst: true) { window, _ throws(Failure) in
            last = try found(in: window, of: period, find) + last
            return last.count < count
        }
        return last.suffix(count)
    }

    /// Visits the logs of a period in windows of time, or in one window if the broker finds no offsets by time.
    ///
    /// - Returns: whether all windows were visited.
    @discardableResult
    func visit(
        _ period: Period, newestFirst: Bool = false,
        _ body: (_ window: Logs, _ times: Period) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard clients.capabilities.findsOffsetsByTime else { return try body(watermarks, period) }
        var logs = watermarks
        if period.lowerBound > Self.always.lowerBound { logs = try split(logs, at: period.lowerBound).after }
        if period.upperBound < Self.always.upperBound { logs = try split(logs, at: period.upperBound).before }
        return try logs.visit(period, newestFirst: newestFirst, split: split, body)
    }

    private func found<Found>(in window: Logs, of period: Period, _ find: (ConsumedRecord) -> Found?) throws(Failure) -> [Found] {
        // If the broker finds offsets by time, the whole window is within the period.
        var timeline = Timeline<Found>(from: clients.capabilities.findsOffsetsByTime ? period.lowerBound : Self.always.lowerBound)
        try read(window) { record in
            timeline.add(record.timestamp ?? 0, record.partition, record.offset) { period.contains($0) ? find(record) : nil }
        }
        return timeline.sorted
    }

    /// Splits logs at each partition's first record at or after a time.
    private func split(_ logs: Logs, at time: Int64) throws(Failure) -> (before: Logs, after: Logs) {
        let times = logs.filter { !$0.value.isEmpty }.mapValues { _ in time }
        let found = try clients.ask(reader.consumer) { timeout throws(KafkaError) in
            try reader.consumer.offsets(since: times, timeout: timeout)
        }
        return logs.split(at: found)
    }
}

/// Sorts results from several partitions by time.
///
/// A record counts as no older than those before it in its partition: clocks may differ, but a partition keeps its order.
struct Timeline<Found> {
    private let start: Int64
    private var latest: [Int32: Int64] = [:]
    private var all: [(key: (time: Int64, partition: Int32, offset: Offset), found: Found)] = []

    /// - Parameter start: the earliest time that a record counts as, in milliseconds since 1970.
    init(from start: Int64) { self.start = start }

    /// Adds the result of `find` for the partition's next record, given the time that the record counts as.
    mutating func add(_ timestamp: Int64, _ partition: Int32, _ offset: Offset, _ find: (_ time: Int64) -> Found?) {
        let time = max(timestamp, latest[partition] ?? start)
        latest[partition] = time
        if let found = find(time) { all.append(((time, partition, offset), found)) }
    }

    var sorted: [Found] { all.sorted { $0.key < $1.key }.map(\.found) }
}

extension Logs {
    /// Later than any record, in milliseconds since 1970. Halving all 64 bits would take twice the lookups.
    private static var end: Int64 { 1 << 43 }

    /// Halves a period until each window holds few enough offsets to be sorted in memory, and visits the windows that hold any.
    ///
    /// A partition's first record at or after a time is also the first that a ``Timeline`` places there. So a later window has
    /// only later records.
    ///
    /// - Parameters:
    ///   - most: the most offsets in a window. Only a window of one millisecond may hold more.
    ///   - split: cuts logs at each partition's first record at or after a time.
    ///   - body: returns whether to go on.
    /// - Returns: whether all windows were visited.
    func visit(
        _ times: TopicReader.Period, newestFirst: Bool, most: Int = 50_000,
        split: (Logs, _ time: Int64) throws(Failure) -> (before: Logs, after: Logs),
        _ body: (Logs, TopicReader.Period) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard offsetCount > 0 else { return true }
        let end = Swift.min(times.upperBound, Swift.max(times.lowerBound, Self.end))
        guard offsetCount > most, end > times.lowerBound + 1 else { return try body(self, times) }
        let middle = times.lowerBound + (end - times.lowerBound) / 2
        let (before, after) = try split(self, middle)
        let halves = [(before, times.lowerBound..<middle), (after, middle..<times.upperBound)]
        for (logs, times) in newestFirst ? halves.reversed() : halves {
            guard try logs.visit(times, newestFirst: newestFirst, most: most, split: split, body) else { return false }
        }
        return true
    }

    /// How many offsets these ranges have, transaction markers included.
    var offsetCount: Int { values.reduce(0) { $0 + $1.count } }

    /// Splits the ranges at these offsets. A partition without an offset is all before.
    func split(at offsets: [TopicPartition: Offset]) -> (before: Logs, after: Logs) {
        var parts = (before: self, after: self)
        for (partition, range) in self {
            let middle = Swift.min(Swift.max(range.lowerBound, offsets[partition] ?? range.upperBound), range.upperBound)
            parts.before[partition] = range.lowerBound..<middle
            parts.after[partition] = middle..<range.upperBound
        }
        return parts
    }
}
