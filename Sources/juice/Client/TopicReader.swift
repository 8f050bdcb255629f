import JuiceMessages
import Kafka

/// Ranges of offsets, by partition.
typealias Logs = [TopicPartition: Range<Offset>]

/// Reads all partitions of some topics, without a consumer group. It reads committed records only.
final class TopicReader {
    /// Which offset counts as the end of a partition.
    enum End {
        /// The last stable offset: before the first record of an open transaction.
        case lastStableOffset
        /// The end of the log. Reading up to there waits for open transactions to end.
        case highWatermark
    }

    /// The start and end of each partition's log when the reader was created.
    let watermarks: Logs

    private let topics: [String]
    private let clients: KafkaClients
    private let consumer: Consumer
    /// How long to wait for brokers, and for the next records.
    private let timeout: Duration
    /// The next offset of each assigned partition.
    private var positions: [TopicPartition: Offset] = [:]
    /// What could not be read so far, and why; without a problem it expired while it was to be read.
    private(set) var gaps: [(place: TopicPartition, offsets: Range<Offset>, problem: String?)] = []
    /// Whether what cannot be read is reported on standard error.
    var warnsOfGaps = true
    private var fullPolls = 0

    private static let mostRecords = 1000
    /// Brokers that were silent for this long are asked.
    private static let longestSilence = Duration.seconds(2)
    /// How many polls that find as many records as they may pass between two requests to fetch on. librdkafka's queue holds more.
    private static let pollsToFetchOn = 16

    /// Looks up where the topics' partitions start and end.
    ///
    /// - Parameters:
    ///   - store: reads only the partition of the results that holds this store's answers; nil reads all partitions.
    ///   - end: which offsets are the ends; nil looks up neither starts nor ends.
    init(
        _ clients: KafkaClients, topic topics: String..., of store: String? = nil, upTo end: End? = .lastStableOffset,
        timeout: Duration
    ) throws(Failure) {
        (self.topics, self.clients, self.timeout) = (topics, clients, timeout)
        let deadline = Deadline(after: timeout)
        // Of records that expired meanwhile there is an error.
        let consumer = try clients.consumer(reset: "error")
        self.consumer = consumer
        try clients.reach(consumer, deadline: deadline)
        let isSeparate = end == .highWatermark
        let asker = isSeparate ? try clients.consumer(isolation: "read_uncommitted") : consumer
        defer { if isSeparate { asker.close() } }
        watermarks = try clients.ask(asker, until: deadline) { () throws(KafkaError) in
            // Otherwise librdkafka looks up the leaders of the first partitions up to a second after they are assigned.
            var partitions = try asker.partitions(of: topics, timeout: deadline.remaining)
            guard end != nil else { return [:] }
            if let store {
                // Stores live in the partitions of the stock topic. Other topics may have got more since.
                let count = try asker.partitions(of: [clients.topics.stock], timeout: deadline.remaining).count
                let home = Array(store.utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: Int32(clamping: max(1, count))) }
                partitions.removeAll { $0.topic == clients.topics.results && $0.partition != home }
            }
            return try asker.watermarks(of: partitions, timeout: deadline.remaining)
        }
    }

    /// Assigns these partitions, and no others, from these offsets on.
    func start(at offsets: [TopicPartition: Offset]) throws(Failure) {
        try clients.call(try consumer.assign(offsets))
        positions = offsets
    }

    /// Reads what follows the ends in ``watermarks``.
    func startAtEnds() throws(Failure) { try start(at: watermarks.mapValues(\.upperBound)) }

    /// Calls `body` with each available record, after waiting up to `timeout` for the first one. Passes over what cannot be read.
    ///
    /// - Returns: the partitions whose end was reached, with the next offset.
    @discardableResult
    func poll(timeout: Duration, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) -> [TopicPartition: Offset] {
        let batch = try clients.call(try consumer.poll(maxRecords: Self.mostRecords, timeout: timeout))
        if batch.count == Self.mostRecords {
            fullPolls += 1
            if fullPolls % Self.pollsToFetchOn == 0 {
                consumer.fetchOn(from: Array(positions.keys))
            }
        }
        var ends: [TopicPartition: Offset] = [:]
        // Whatever follows the first error of a partition is noise.
        var faults: [TopicPartition: KafkaError] = [:]
        for element in batch {
            switch element {
            case .record(let record):
                if faults[record.place] != nil { continue }
                positions[record.place] = record.offset + 1
                try body(record)
            case .failure(let partition?, _) where faults[partition] != nil: continue
            case .failure(let partition?, let error) where error.code.isDamage || error.code.isOffsetReset:
                faults[partition] = error
            case .endOfPartition(let partition, let next): ends[partition] = next
            case .failure(_, let error) where error.remedy == .retry: clients.watch.noticed(error)
            // librdkafka looks up the coordinator of its group id although it joins no group. That needs no permission.
            case .failure(_, let error) where error.code == .groupAuthorizationFailed: continue
            case .failure(_, let error): throw clients.failure(error)
            }
        }
        if !faults.isEmpty { try pass(faults) }
        return ends
    }

    /// Goes on behind damaged batches, and where logs begin by now.
    private func pass(_ faults: [TopicPartition: KafkaError]) throws(Failure) {
        for (place, error) in faults {
            var next = positions[place] ?? 0
            var end = next
            if error.code.isDamage {
                let first = error.offset ?? next
                (next, end) = (max(next, first), clients.lastDamaged(of: place, from: first, timeout: timeout) + 1)
            } else if let log = try clients.call(try consumer.watermarks(of: [place], timeout: timeout))[place] {
                // An error from before an assignment may come after it.
                end = next == log.upperBound || log.contains(next) ? next : log.lowerBound
            }
            positions[place] = end
            let gap = (place: place, offsets: next..<max(next, end), problem: error.code.isDamage ? error.message : nil)
            guard !gap.offsets.isEmpty, !gaps.contains(where: { $0.place == place && $0.offsets == gap.offsets }) else { continue }
            gaps.append(gap)
            guard warnsOfGaps else { continue }
            let reason = gap.problem.map { "cannot be read: \($0)" } ?? "have expired"
            StandardError.write("warning: offsets \(next) to \(end - 1) of \(place) \(reason)\n")
        }
        try start(at: positions)
    }

    /// Reads what follows the ends in ``watermarks`` until asked to stop. Shows what was found among the records at hand. While
    /// nothing arrives it asks brokers, so that ``KafkaClients/watch`` says when none answers: old data must not pass for new.
    func follow<Found>(
        until stop: StopSignal, _ find: (ConsumedRecord) -> Found?, show: ([Found]) -> Void
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
            // A broker that hangs breaks no connection.
            if clients.watch.needsProbe || .now - heardAt > Self.longestSilence,
                clients.watch.probe(consumer, timeout: .seconds(1))
            {
                heardAt = .now
            }
        }
    }

    /// Reads ranges of offsets completely, in order within each partition.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable`` if nothing arrives for the reader's timeout.
    func read(_ ranges: Logs, _ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) {
        var unread = UnreadRanges(ranges)
        try start(at: ranges.filter { !$0.value.isEmpty }.mapValues(\.lowerBound))
        var deadline = Deadline(after: timeout)
        while !unread.isEmpty {
            var hasRead = false
            let ends = try poll(timeout: deadline.step()) { record throws(Failure) in
                hasRead = true
                let place = record.place
                if ranges[place]?.contains(record.offset) ?? false { try body(record) }
                unread.passed(place, next: record.offset + 1)
            }
            for (partition, next) in ends { unread.passed(partition, next: next) }
            if hasRead || !ends.isEmpty {
                deadline = Deadline(after: timeout)
            } else if deadline.isOver {
                let reason = "nothing more of \(topics.joined(separator: ", ")) has come for \(DurationText.text(timeout))"
                throw clients.failure(KafkaError(code: .timedOut, message: reason, isRetriable: true))
            }
        }
    }

    /// Reads everything up to the ends in ``watermarks``, in order within each partition.
    func readAll(_ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) { try read(watermarks, body) }
}

// MARK: - By time

extension TopicReader {
    /// Some time, in milliseconds since 1970.
    typealias Period = Range<Int64>

    /// All times that a record can have.
    static let always: Period = 0..<Int64.max

    /// Reads the records of a period in the order of time.
    ///
    /// - Parameters:
    ///   - find: makes something of a record, or nothing.
    ///   - body: receives what was found.
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

    /// Visits the logs of a period in windows of time, as ``TimeWindows`` does. All in one if the broker finds no offsets by time.
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
        return try TimeWindows(newestFirst: newestFirst).visit(logs, of: period, split: split, body)
    }

    /// What is found in a window, in the order of time.
    private func found<Found>(in window: Logs, of period: Period, _ find: (ConsumedRecord) -> Found?) throws(Failure) -> [Found] {
        // If the broker finds offsets by time, all of the window is of the period.
        var timeline = Timeline<Found>(from: clients.capabilities.findsOffsetsByTime ? period.lowerBound : Self.always.lowerBound)
        try read(window) { record in
            let time = timeline.time(of: record.timestamp ?? 0, partition: record.partition)
            guard period.contains(time), let found = find(record) else { return }
            timeline.add(found, at: time, partition: record.partition, offset: record.offset)
        }
        return timeline.sorted
    }

    /// What of some logs is before each partition's first record at or after a time, and what is not.
    private func split(_ logs: Logs, at time: Int64) throws(Failure) -> (before: Logs, after: Logs) {
        let times = logs.filter { !$0.value.isEmpty }.mapValues { _ in time }
        let deadline = Deadline(after: timeout)
        let found = try clients.ask(consumer, until: deadline) { () throws(KafkaError) in
            try consumer.offsets(since: times, timeout: deadline.remaining)
        }
        return logs.split(at: found)
    }
}

/// Puts what is found in several partitions in the order of time.
///
/// A record counts as no older than those before it in its partition: clocks may differ, but a partition keeps its order.
struct Timeline<Found> {
    private let start: Int64
    private var latest: [Int32: Int64] = [:]
    private var all: [(key: (time: Int64, partition: Int32, offset: Offset), found: Found)] = []

    /// - Parameter start: no record counts as older, in milliseconds since 1970.
    init(from start: Int64) { self.start = start }

    /// The time that the partition's next record counts as.
    mutating func time(of timestamp: Int64, partition: Int32) -> Int64 {
        let time = max(timestamp, latest[partition] ?? start)
        latest[partition] = time
        return time
    }

    mutating func add(_ found: Found, at time: Int64, partition: Int32, offset: Offset) {
        all.append(((time, partition, offset), found))
    }

    var sorted: [Found] { all.sorted { $0.key < $1.key }.map(\.found) }
}

/// Halves a period until each window holds few enough offsets to be sorted in memory.
///
/// The first record at or after a time is also the first that counts as that in a ``Timeline``. So what is in a later window is
/// later.
struct TimeWindows {
    /// How many offsets a window may hold. Only a single millisecond may have more.
    var most = 50_000
    let newestFirst: Bool

    /// Later than any record, in milliseconds since 1970. Halving all 64 bits would take twice the lookups.
    private static let end = Int64(1) << 43

    /// Visits the windows that hold any offsets.
    ///
    /// - Parameters:
    ///   - split: cuts logs at each partition's first record at or after a time.
    ///   - body: returns whether to go on.
    /// - Returns: whether all windows were visited.
    func visit(
        _ logs: Logs, of times: TopicReader.Period, split: (Logs, _ time: Int64) throws(Failure) -> (before: Logs, after: Logs),
        _ body: (Logs, TopicReader.Period) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard logs.offsetCount > 0 else { return true }
        let end = min(times.upperBound, max(times.lowerBound, Self.end))
        guard logs.offsetCount > most, end > times.lowerBound + 1 else { return try body(logs, times) }
        let middle = times.lowerBound + (end - times.lowerBound) / 2
        let (before, after) = try split(logs, middle)
        let halves = [(before, times.lowerBound..<middle), (after, middle..<times.upperBound)]
        for (logs, times) in newestFirst ? halves.reversed() : halves {
            guard try visit(logs, of: times, split: split, body) else { return false }
        }
        return true
    }
}

extension Logs {
    /// How many offsets these are.
    var offsetCount: Int { values.reduce(0) { $0 + $1.count } }

    /// What is before these offsets, and what is not. A partition without one is all before.
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
