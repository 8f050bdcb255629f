import CRdKafka

/// Reads ranges of partitions to their ends, or follows partitions without end.
///
/// It tracks the position of each partition, even past transaction markers and aborted records, which have offsets but are never
/// returned (KIP-98). It ignores transient errors, and trusts nothing that librdkafka returns from a partition after a damaged
/// record batch.
///
/// To read ranges completely, in order within each partition:
///
/// ```swift
/// let reader = PartitionReader(consumer)
/// try reader.start(try consumer.watermarks(of: partitions, timeout: timeout))
/// while let records = try reader.next(until: .now + timeout) {
///     for record in records { … }  // To stop early, throw, return or break.
/// }
/// ```
///
/// To bound the whole read instead of each wait, compute the deadline once. To follow partitions, call ``start(at:)`` and then
/// ``poll(maxRecords:timeout:)`` repeatedly; ``hasReached(_:)`` says when they have caught up with known end offsets. To read only
/// the first records of each partition, use ``Consumer/read(_:timeout:gaps:_:)``.
///
/// The consumer needs `enable.partition.eof`. With `read_committed`, a range that extends past an open transaction is read once the
/// transaction has ended. Set `auto.offset.reset=error` to get a ``Gap`` for expired offsets; otherwise the client skips them.
///
/// The consumer may be a member of a group. Then ``start(at:)`` follows the group's assignment, ``Records/rebalance`` reports its
/// changes, and the owner handles the group's errors: see ``Records/errors``.
///
/// It belongs to the consumer's thread, and nothing else may assign or poll that consumer while it reads.
public final class PartitionReader {
    /// Records of some partitions, in order within each. Valid until the reader polls again.
    public struct Records: RandomAccessCollection {
        /// A change of the group's assignment. It comes alone.
        public fileprivate(set) var rebalance: Rebalance?
        /// Errors of a group member, except those that make a ``Gap``, each with the partition that it concerns if known.
        public fileprivate(set) var errors: [(partition: TopicPartition?, error: KafkaError)] = []
        fileprivate var messages: [UnsafePointer<rd_kafka_message_t>] = []
        /// The records in runs of one partition. Asking each record for its topic would copy the name every time.
        public fileprivate(set) var runs: [(partition: TopicPartition, indices: Range<Int>)] = []
        /// The partitions that were read to their current ends, and the offset that their next record will have.
        public fileprivate(set) var ends: [TopicPartition: Offset] = [:]

        /// Always 0.
        public var startIndex: Int { 0 }
        /// The number of records.
        public var endIndex: Int { messages.count }
        /// The record at an index.
        public subscript(index: Int) -> ConsumedRecord { ConsumedRecord(message: messages[index]) }
    }

    /// Offsets that cannot be read: their records are damaged, see ``KafkaError/Code/isDamage``, or have expired.
    public struct Gap: Sendable {
        /// The partition.
        public let partition: TopicPartition
        /// The unreadable offsets; the reader goes on after them. Empty if it has left the partition.
        public let offsets: Range<Offset>
        /// Why they cannot be read.
        public let error: KafkaError
    }

    /// What to do about a ``Gap``.
    public enum GapPolicy: Sendable {
        /// Throw its error.
        case fail
        /// Stop reading its partition.
        case leave
        /// Go on after the damaged batches, or at the log's present beginning.
        case pass
    }

    private struct Progress {
        /// Records outside this range are not returned.
        let range: Range<Offset>
        var next: Offset
        /// Whether the reader has ever reached the end of the log.
        var hasCaughtUp = false

        var isRead: Bool { next >= range.upperBound }
    }

    /// The consumer that reads, for lookups.
    public let consumer: Consumer
    /// The gaps found so far, each once. The owner may remove those it has handled.
    public var gaps: [Gap] = []
    private let policy: GapPolicy
    private let onTransientError: (KafkaError) -> Void
    private var partitions: [TopicPartition: Progress] = [:]
    /// Nothing from these is returned: after damage, what librdkafka reports comes from bytes that it mistook for records.
    private var left: Set<TopicPartition> = []
    private var records = Records()

    /// By itself, librdkafka takes some tenths of a second to look up a new topic, and to resume fetching after its queue was full.
    private static let patience = Duration.milliseconds(10)
    /// How long to look for the end of a gap.
    private static let timeout = Duration.seconds(10)

    /// - Parameters:
    ///   - consumer: the consumer that reads.
    ///   - gaps: what to do where records cannot be read.
    ///   - onTransientError: called with each transient error.
    public init(_ consumer: Consumer, gaps: GapPolicy = .fail, onTransientError: @escaping (KafkaError) -> Void = { _ in }) {
        (self.consumer, policy, self.onTransientError) = (consumer, gaps, onTransientError)
    }

    /// Reads these ranges, and no other partitions, from now on.
    public func start(_ ranges: [TopicPartition: Range<Offset>]) throws(KafkaError) {
        try start(ranges.filter { !$0.value.isEmpty }.mapValues { Progress(range: $0, next: $0.lowerBound) })
    }

    /// Follows these partitions, and no others, from these offsets on.
    public func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try start(offsets.mapValues { Progress(range: .min..<Offset.max, next: $0) })
    }

    private func start(_ partitions: [TopicPartition: Progress]) throws(KafkaError) {
        (self.partitions, left) = (partitions, [])
        try consumer.assign(positions)
    }

    /// Reads nothing from now on.
    public func stop() throws(KafkaError) { try start([TopicPartition: Progress]()) }

    /// Whether the reader is reading a partition and has not left it.
    public func reads(_ partition: TopicPartition) -> Bool { partitions[partition] != nil }

    /// Stops reading a partition. Its records that were already returned stay valid.
    public func leave(_ partition: TopicPartition) {
        partitions[partition] = nil
        left.insert(partition)
    }

    /// The next offset of each partition that is read.
    public var positions: [TopicPartition: Offset] { partitions.mapValues(\.next) }

    /// Whether the position of each partition that is read is at or past its end offset in `ends`.
    public func hasReached(_ ends: [TopicPartition: Offset]) -> Bool {
        ends.allSatisfy { end in partitions[end.key].map { $0.next >= end.value } ?? true }
    }

    /// The next records, at least one; nil once all ranges are read.
    ///
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` if there are none by the deadline.
    public func next(until deadline: ContinuousClock.Instant) throws(KafkaError) -> Records? {
        while let unread = partitions.first(where: { !$0.value.isRead }) {
            let records = try poll(timeout: .milliseconds(100))
            if !records.isEmpty { return records }
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, message: "\(unread.key.topic): no records", isRetriable: true)
            }
        }
        return nil
    }

    /// The headers of a record that was polled last, by its index and value; nil if librdkafka cannot read them. If the value shows
    /// that there are none, nothing else of the record is touched: in a large batch it is no longer in the processor's caches.
    package func headers(at index: Int, of value: UnsafeRawBufferPointer?) -> [RecordHeader]? {
        ConsumedRecord.mayHaveHeaders(after: value) ? records[index].readableHeaders : []
    }

    /// The same as librdkafka has them, to copy.
    package func headerList(at index: Int) -> HeaderList? { records[index].headerList }

    /// Waits up to `timeout` for the first record, and returns it with all others that have already arrived, `maxRecords` at most.
    ///
    /// - Throws: ``KafkaError`` if the client is no longer usable, or a partition cannot be read.
    public func poll(maxRecords: Int = 10_000, timeout: Duration) throws(KafkaError) -> Records {
        let isCatchingUp = partitions.contains { !$0.value.isRead && !$0.value.hasCaughtUp }
        var batch = try consumer.poll(maxRecords: maxRecords, timeout: isCatchingUp ? min(timeout, Self.patience) : timeout)
        if batch.isEmpty, batch.rebalance == nil, isCatchingUp {
            // A lookup makes librdkafka find topics and resume fetching at once. Its result is not needed.
            _ = try? consumer.endOffsets(of: Array(partitions.keys), timeout: .milliseconds(1))
            batch = try consumer.poll(maxRecords: maxRecords, timeout: timeout)
        }
        var records = Records()
        swap(&records, &self.records)
        records.messages.removeAll(keepingCapacity: true)
        (records.runs, records.ends, records.errors, records.rebalance) = ([], [:], [], batch.rebalance)
        defer { self.records = records }
        if batch.rebalance != nil { (partitions, left, gaps) = ([:], [], []) }
        var faults: [TopicPartition: (error: KafkaError, progress: Progress)] = [:]
        var index = 0
        while index < batch.count {
            switch batch[index] {
            case .record(let first):
                let (place, topic, partition) = (first.place, first.topicIdentity, first.partition)
                let (range, start) = (partitions[place]?.range, records.count)
                var next: Offset?
                while let record = batch.record(at: index), record.partition == partition, record.topicIdentity == topic {
                    let offset = record.offset
                    next = offset + 1
                    if let range, range.contains(offset) { records.messages.append(record.message) }
                    index += 1
                }
                if let next { partitions[place]?.next = next }
                if start < records.count { records.runs.append((place, start..<records.count)) }
                continue
            case .endOfPartition(let place, let next):
                guard partitions[place] != nil else { break }
                records.ends[place] = next
                partitions[place]?.next = next
                partitions[place]?.hasCaughtUp = true
            case .failure(let place?, _) where left.contains(place): break
            case .failure(let place?, let error) where error.code.isDamage || error.code.isOffsetReset:
                guard let progress = partitions[place], !progress.isRead else { break }
                guard policy != .fail else { throw error }
                leave(place)
                faults[place] = (error, progress)
            case .failure(let place, let error) where consumer.isMember: records.errors.append((place, error))
            case .failure(_, let error) where error.remedy == .retry: onTransientError(error)
            case .failure(_, let error): throw error
            }
            index += 1
        }
        if !faults.isEmpty { try handle(faults) }
        return records
    }

    private func handle(_ faults: [TopicPartition: (error: KafkaError, progress: Progress)]) throws(KafkaError) {
        for (place, (error, progress)) in faults {
            let first = error.offset ?? progress.next
            // A damaged batch may begin below the offset that was read from.
            let start = error.code.isDamage ? max(first, progress.next) : progress.next
            var next = start
            if policy == .pass {
                if error.code.isDamage {
                    next = 1 + consumer.lastDamaged(of: place, from: first, timeout: Self.timeout)
                } else if let log = try consumer.watermarks(of: [place], timeout: Self.timeout)[place] {
                    // An error from before an assignment may arrive after it.
                    next = start == log.upperBound || log.contains(start) ? start : log.lowerBound
                }
                partitions[place] = progress
                partitions[place]?.next = next
            }
            let gap = Gap(partition: place, offsets: start..<max(start, next), error: error)
            let isKnown = gaps.contains { $0.partition == place && $0.offsets == gap.offsets }
            if !isKnown, policy == .leave || !gap.offsets.isEmpty { gaps.append(gap) }
        }
        if policy == .pass { try start(partitions) }
    }
}

extension Consumer {
    /// Reads ranges of partitions within `timeout`, in order within each. The consumer reads nothing afterwards.
    ///
    /// - Parameters:
    ///   - ranges: what to read.
    ///   - timeout: how long the whole read may take.
    ///   - gaps: what to do where records cannot be read.
    ///   - body: called with each record and its partition; it returns false if it needs no more of the partition.
    /// - Returns: what could not be read.
    @discardableResult
    public func read(
        _ ranges: [TopicPartition: Range<Offset>], timeout: Duration, gaps: PartitionReader.GapPolicy = .fail,
        _ body: (TopicPartition, ConsumedRecord) -> Bool
    ) throws(KafkaError) -> [PartitionReader.Gap] {
        let reader = PartitionReader(self, gaps: gaps)
        let deadline = ContinuousClock.now + timeout
        try reader.start(ranges)
        defer { try? reader.stop() }
        while let records = try reader.next(until: deadline) {
            for (partition, indices) in records.runs where reader.reads(partition) {
                if !records[indices].allSatisfy({ body(partition, $0) }) { reader.leave(partition) }
            }
        }
        return reader.gaps
    }
}
