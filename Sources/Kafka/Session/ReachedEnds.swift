/// Finds out when partitions are read to their ends.
///
/// A consumer tells it of a partition only when nothing came for as long as a fetch waits (`enable.partition.eof`). Under load
/// that may never be. So once a second the ends are looked up: whoever reaches them has read all that there was.
public struct ReachedEnds {
    /// The next offset to read of each partition.
    private var next: [TopicPartition: Offset]
    /// The ends as they were known at first. A leader that has just taken over may tell of earlier ones.
    private let known: [TopicPartition: Offset]
    private var goal: UnreadRanges?
    private var lookedUpAt = ContinuousClock.now

    /// For partitions that are read from these offsets on, and are known to reach up to those.
    public init(from offsets: [TopicPartition: Offset], known: [TopicPartition: Offset] = [:]) {
        next = offsets
        self.known = known
    }

    /// The partitions that are read to their ends once a batch is taken, with the offset that follows.
    ///
    /// - Parameters:
    ///   - batch: what was polled last.
    ///   - consumer: asked for the ends, where that is due.
    public mutating func reached(
        by batch: RecordBatch,
        of consumer: Consumer
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        var reached: [TopicPartition: Offset] = [:]
        var hasRecords = false
        for element in batch {
            switch element {
            case .record(let record):
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                hasRecords = true
                reached[partition] = nil
                pass(partition, record.offset + 1)
            case .endOfPartition(let partition, let offset):
                pass(partition, offset)
                if offset >= known[partition] ?? 0 { reached[partition] = offset }
            case .failure: continue
            }
        }
        if goal?.isEmpty ?? false {
            goal = nil
            return next
        }
        if goal == nil, hasRecords, .now - lookedUpAt > .seconds(1) {
            lookedUpAt = .now
            let ends = try consumer.endOffsets(of: Array(next.keys), timeout: .seconds(2))
            var ranges: [TopicPartition: Range<Offset>] = [:]
            for (partition, start) in next {
                ranges[partition] = start..<max(start, ends[partition] ?? start)
            }
            goal = UnreadRanges(ranges)
        }
        return reached
    }

    private mutating func pass(_ partition: TopicPartition, _ offset: Offset) {
        guard next[partition] != nil else { return }
        next[partition] = offset
        goal?.passed(partition, next: offset)
    }
}

/// What is still to be read of some partitions before ends that were looked up once.
///
/// Markers of transactions take offsets, so the last record of a range need not be just below its end: with
/// `enable.partition.eof` the consumer tells what no record does.
public struct UnreadRanges: Sendable {
    private var ends: [TopicPartition: Offset] = [:]

    /// These ranges of offsets; empty ones are read already.
    public init(_ ranges: [TopicPartition: Range<Offset>]) {
        for (partition, range) in ranges where !range.isEmpty { ends[partition] = range.upperBound }
    }

    /// Whether everything is read.
    public var isEmpty: Bool { ends.isEmpty }

    /// Takes note that everything below an offset was read.
    public mutating func passed(_ partition: TopicPartition, next: Offset) {
        guard let end = ends[partition], next >= end else { return }
        ends[partition] = nil
    }
}
