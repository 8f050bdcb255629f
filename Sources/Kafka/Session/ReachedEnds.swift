/// Detects when partitions have been read to their ends.
///
/// A consumer reports the end of a partition only after a fetch has waited there in vain (`enable.partition.eof`), which may
/// never happen under load. So the ends are also looked up once a second, and count as reached once reading has passed them.
public struct ReachedEnds {
    /// The next offset to read of each partition.
    private var next: [TopicPartition: Offset]
    /// The ends known at the start. A leader that has just taken over may report earlier ones.
    private let known: [TopicPartition: Offset]
    private var goal: UnreadRanges?
    private var lookedUpAt = ContinuousClock.now

    /// - Parameters:
    ///   - offsets: where each partition is read from.
    ///   - known: how far each partition is known to reach.
    public init(from offsets: [TopicPartition: Offset], known: [TopicPartition: Offset] = [:]) {
        next = offsets
        self.known = known
    }

    /// The partitions that have been read to their ends with a batch, with the offset of their next record.
    ///
    /// - Parameters:
    ///   - batch: the batch polled last.
    ///   - consumer: the consumer, which looks up the ends if that is due.
    public mutating func reached(by batch: RecordBatch, of consumer: Consumer) throws(KafkaError) -> [TopicPartition: Offset] {
        var reached: [TopicPartition: Offset] = [:]
        var hasRecords = false
        for element in batch {
            switch element {
            case .record(let record):
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                hasRecords = true
                reached[partition] = nil
                advance(partition, record.offset + 1)
            case .endOfPartition(let partition, let offset):
                advance(partition, offset)
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
            for (partition, start) in next { ranges[partition] = start..<max(start, ends[partition] ?? start) }
            goal = UnreadRanges(ranges)
        }
        return reached
    }

    private mutating func advance(_ partition: TopicPartition, _ offset: Offset) {
        guard next[partition] != nil else { return }
        next[partition] = offset
        goal?.passed(partition, next: offset)
    }
}

/// Ranges of partitions that are still to be read.
///
/// Transaction markers occupy offsets, so a range's last record need not be just below its end. A consumer with
/// `enable.partition.eof` reports what no record shows.
public struct UnreadRanges: Sendable {
    private var ends: [TopicPartition: Offset] = [:]

    /// Ranges of offsets to read; empty ones count as read.
    public init(_ ranges: [TopicPartition: Range<Offset>]) {
        for (partition, range) in ranges where !range.isEmpty { ends[partition] = range.upperBound }
    }

    /// Whether everything has been read.
    public var isEmpty: Bool { ends.isEmpty }

    /// A partition has been read up to an offset.
    public mutating func passed(_ partition: TopicPartition, next: Offset) {
        guard let end = ends[partition], next >= end else { return }
        ends[partition] = nil
    }
}
