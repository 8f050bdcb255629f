/// Reads topics as a member of a consumer group, from the committed offsets on: a ``GroupConsumer`` that joins when it must,
/// tells a ``BrokerWatch`` what it meets, and knows when partitions are read to their ends.
///
/// It belongs to one thread.
public final class GroupReader {
    /// What happened next.
    public enum Event {
        /// The group gave partitions, or took them all back. Nothing is read before ``GroupReader/start(at:)``.
        case rebalanced
        /// The records at hand, valid until the next poll, and the partitions that are read to their ends with them, with the
        /// offset that follows.
        case records(RecordBatch, ends: [TopicPartition: Offset])
    }

    private let topics: [String]
    private let configuration: KafkaConfiguration
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private var member: GroupConsumer?
    private var assigned: [TopicPartition]?
    private var logs: [TopicPartition: Watermarks] = [:]
    private var ends: ReachedEnds?

    private static let callTimeout = Duration.seconds(2)

    /// A reader that joins its group at the first poll.
    ///
    /// - Parameters:
    ///   - topics: what the group shares out.
    ///   - configuration: needs `group.id`. How offsets are committed and reset is the reader's. Unless it says otherwise, a
    ///     dead member's partitions are another's after 10 s, records are read as committed, and a commit waits for 10 s.
    ///   - watch: told what this client notices, in place of the hook `onError`.
    ///   - hooks: told what no call returns.
    public init(
        of topics: [String],
        configuration: KafkaConfiguration,
        watch: BrokerWatch,
        hooks: ClientHooks
    ) {
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

    /// What happened next; waits a moment for something to happen. Asks the cluster whether it answers, where that is in doubt.
    ///
    /// - Throws: ``KafkaError`` when the membership is over, also because an offset is no longer in the log or because no retry
    ///   would help. The next poll begins another.
    public func poll(maxRecords: Int) throws(KafkaError) -> Event {
        do throws(KafkaError) {
            let member = try joined()
            if watch.needsProbe { watch.probe(member.consumer) }
            // A rebalance does not end a poll that waits for records: before the first there is nothing else to wait for.
            let wait = member.membership == nil ? 10 : ends == nil ? 0 : 100
            switch try member.poll(maxRecords: maxRecords, timeout: .milliseconds(wait)) {
            case .assigned(let partitions):
                watch.reached()
                (assigned, ends) = (partitions, nil)
                return .rebalanced
            case .revoked(let error):
                (assigned, ends) = (nil, nil)
                if let error { try note(error) }
                return .rebalanced
            case .records(let batch):
                for case .failure(_, let error) in batch { try note(error) }
                return .records(batch, ends: try ends?.reached(by: batch, of: member.consumer) ?? [:])
            }
        } catch {
            close()
            throw error
        }
    }

    /// Some of what a consumer meets heals by itself.
    private func note(_ error: KafkaError) throws(KafkaError) {
        guard !error.code.isOffsetReset, !error.code.isHopeless else { throw error }
        watch.noticed(error)
    }

    /// From where to read what the group gave: the committed offsets, or the oldest records where none was committed, or what
    /// was is no longer in the log. Nil before the group gave anything.
    public func startOffsets() throws(KafkaError) -> [TopicPartition: Offset]? {
        guard let partitions = assigned else { return nil }
        let consumer = try joined().consumer
        let committed = try consumer.committed(partitions, timeout: Self.callTimeout)
        // After the committed offsets: those are below these ends.
        logs = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        var offsets: [TopicPartition: Offset] = [:]
        for partition in partitions {
            guard let log = logs[partition] else { throw KafkaError(code: .timedOut, isRetriable: true) }
            let offset = (committed[partition] ?? nil) ?? log.low
            offsets[partition] = (log.low...log.high).contains(offset) ? offset : log.low
        }
        return offsets
    }

    /// Reads the given partitions from the given offsets, and no others.
    public func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try joined().start(at: offsets)
        ends = ReachedEnds(from: offsets, known: logs.mapValues(\.high))
    }

    /// Commits offsets. Waits as long as `socket.timeout.ms`; the broker refuses once the partitions are another member's.
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
