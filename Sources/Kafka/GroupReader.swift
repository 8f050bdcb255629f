/// Reads topics as a member of a consumer group, from the committed offsets on. It joins the group as needed, reports errors
/// to a ``BrokerWatch`` and detects when partitions have been read to their ends.
///
/// It belongs to one thread.
public final class GroupReader {
    /// The result of a poll.
    public enum Event {
        /// The group assigned partitions or revoked all of them. Nothing is read before ``GroupReader/start(at:)``.
        case rebalanced
        /// The records that have arrived, valid until the next poll, and the partitions that are read to their ends with
        /// them, with the offset of their next record.
        case records(RecordBatch, ends: [TopicPartition: Offset])
    }

    private let topics: [String]
    private let configuration: KafkaConfiguration
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private var member: GroupConsumer?
    private var assigned: [TopicPartition]?
    private var logs: [TopicPartition: Watermarks] = [:]
    private var ends: EndTracker?

    private static let callTimeout = Duration.seconds(2)

    /// A reader that joins its group at the first poll.
    ///
    /// - Parameters:
    ///   - topics: the topics that the group reads.
    ///   - configuration: needs `group.id`. The reader itself sets how offsets are committed and reset. By default a dead
    ///     member's partitions are reassigned after 10 s, only committed records are read, and a request waits for up to 10 s.
    ///   - watch: receives the client's background errors in place of the hook `onError`.
    ///   - hooks: receives what else no call returns.
    public init(of topics: [String], configuration: KafkaConfiguration, watch: BrokerWatch, hooks: ClientHooks) {
        self.topics = topics
        self.configuration = KafkaConfiguration([
            "session.timeout.ms": "10000", "heartbeat.interval.ms": "1000", "max.poll.interval.ms": "60000",
            "socket.timeout.ms": "10000", "partition.assignment.strategy": "range",
            "isolation.level": "read_committed",
        ])
        .merging(configuration.properties)
        .merging([
            "enable.auto.commit": "false", "enable.auto.offset.store": "false",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
        ])
        self.watch = watch
        var hooks = hooks
        hooks.onError = { watch.noticed($0) }
        self.hooks = hooks
    }

    deinit { close() }

    /// Waits a moment for a rebalance or records. If in doubt, asks the cluster whether it answers.
    ///
    /// - Throws: ``KafkaError`` when the membership is over, for example because an offset is no longer in the log, records are
    ///   damaged or no retry can help. The next poll joins the group again.
    public func poll(maxRecords: Int) throws(KafkaError) -> Event {
        do throws(KafkaError) {
            let member = try joined()
            if watch.needsProbe { watch.probe(member.consumer) }
            // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
            let wait = !member.hasAssignment ? 10 : ends == nil ? 0 : 100
            switch try member.poll(maxRecords: maxRecords, timeout: .milliseconds(wait)) {
            case .assigned(let partitions):
                watch.reached()
                (assigned, ends) = (partitions, nil)
                return .rebalanced
            case .revoked(let error):
                (assigned, ends) = (nil, nil)
                if let error { try report(error) }
                return .rebalanced
            case .records(let batch):
                for case .failure(_, let error) in batch { try report(error) }
                return .records(batch, ends: try ends?.reached(by: batch, of: member.consumer) ?? [:])
            }
        } catch {
            close()
            throw error
        }
    }

    /// Throws an error that will never go away, and reports any other to the watch.
    private func report(_ error: KafkaError) throws(KafkaError) {
        guard !error.code.isOffsetReset, !error.code.isHopeless, !error.code.isDamage else { throw error }
        watch.noticed(error)
    }

    /// The offsets at which to start reading the assigned partitions: the committed offset, or the oldest record's if there is
    /// none or it is no longer in the log. Nil without an assignment.
    public func startOffsets() throws(KafkaError) -> [TopicPartition: Offset]? {
        guard let partitions = assigned else { return nil }
        let consumer = try joined().consumer
        let committed = try consumer.committed(partitions, timeout: Self.callTimeout)
        // Looked up after the committed offsets, so that those lie below the ends.
        logs = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        var offsets: [TopicPartition: Offset] = [:]
        for partition in partitions {
            guard let log = logs[partition] else { throw KafkaError(code: .timedOut, isRetriable: true) }
            let offset = (committed[partition] ?? nil) ?? log.low
            offsets[partition] = (log.low...log.high).contains(offset) ? offset : log.low
        }
        return offsets
    }

    /// Reads exactly these partitions from these offsets.
    public func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try joined().start(at: offsets)
        ends = EndTracker(from: offsets, known: logs.mapValues(\.high))
    }

    /// Commits offsets, waiting up to 10 s. The broker refuses once the partitions belong to another member.
    public func commit(_ offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try joined().consumer.commit(offsets)
    }

    /// Leaves the group.
    public func close() {
        member?.close()
        (member, assigned, ends) = (nil, nil, nil)
    }

    private func joined() throws(KafkaError) -> GroupConsumer {
        if let member { return member }
        let member = try GroupConsumer(of: topics, configuration: configuration, hooks: hooks)
        self.member = member
        return member
    }
}

/// Detects when partitions have been read to their ends.
///
/// A consumer reports the end of a partition only after a fetch has waited there in vain (`enable.partition.eof`), which may
/// never happen under load. So the ends are also looked up once a second, and count as reached once reading has passed them.
private struct EndTracker {
    /// The next offset to read of each partition.
    private var next: [TopicPartition: Offset]
    /// The ends known at the start. A leader that has just taken over may report earlier ones.
    private let known: [TopicPartition: Offset]
    private var goal: UnreadRanges?
    private var lookedUpAt = ContinuousClock.now

    /// - Parameters:
    ///   - offsets: where each partition is read from.
    ///   - known: how far each partition is known to reach.
    init(from offsets: [TopicPartition: Offset], known: [TopicPartition: Offset]) {
        next = offsets
        self.known = known
    }

    /// The partitions that have been read to their ends with a batch, with the offset of their next record.
    ///
    /// - Parameters:
    ///   - batch: the batch polled last.
    ///   - consumer: the consumer, which looks up the ends if that is due.
    mutating func reached(by batch: RecordBatch, of consumer: Consumer) throws(KafkaError) -> [TopicPartition: Offset] {
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
