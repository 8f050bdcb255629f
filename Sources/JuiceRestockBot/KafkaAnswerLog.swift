import JuiceMessages
import Kafka

/// The answers and refills on Kafka: a member of the bots' group that joins as needed, and an idempotent producer.
package final class KafkaAnswerLog: AnswerLog {
    private let topics: TopicNames
    private let consumerConfiguration: KafkaConfiguration
    private let producerConfiguration: KafkaConfiguration
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private var member: GroupConsumer?
    /// What the group has assigned; nil without an assignment.
    private var assigned: [TopicPartition]?
    /// How far each partition reached when its position was looked up.
    private var knownEnds: Positions = [:]
    /// Nil while nothing is read.
    private var ends: EndTracker?
    /// Nil after a record was not acknowledged: a producer that expired or met a fatal error would deliver none any more.
    private var producer: Producer?

    private static let callTimeout = Duration.seconds(2)

    /// A log that joins the group at the first poll, as a dynamic member, so that one host can run several bots.
    package init(
        base: KafkaConfiguration, group: String, topics: TopicNames, capabilities: BrokerCapabilities, watch: BrokerWatch,
        hooks: ClientHooks
    ) {
        (self.topics, self.watch, self.hooks) = (topics, watch, hooks)
        consumerConfiguration = KafkaConfiguration([
            "queued.max.messages.kbytes": "16384", "session.timeout.ms": "10000",
            "heartbeat.interval.ms": "1000", "max.poll.interval.ms": "60000", "socket.timeout.ms": "10000",
            "partition.assignment.strategy": "range", "isolation.level": "read_committed",
        ])
        .merging(capabilities.consumerProperties).merging(base.properties)
        .merging([
            "group.id": group, "enable.auto.commit": "false", "enable.auto.offset.store": "false",
            "enable.partition.eof": "true", "auto.offset.reset": "error",
        ])
        // A refill that is not delivered within this time is decided again.
        producerConfiguration = KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "5000"]).merging(base.properties)
            .merging(["enable.idempotence": "true"])
    }

    deinit { leave() }

    package func leave() {
        member?.close()
        (member, assigned, ends) = (nil, nil, nil)
    }

    // MARK: - Answers

    package func poll() throws(KafkaError) -> AnswerPoll {
        // Events of a client wait until it is polled.
        producer?.poll(timeout: .zero)
        do throws(KafkaError) {
            let member = try joined()
            // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
            let wait = !member.hasAssignment ? 10 : ends == nil ? 0 : 100
            switch try member.poll(maxRecords: 10_000, timeout: .milliseconds(wait)) {
            case .assigned(let partitions):
                watch.reached()
                (assigned, ends) = (partitions, nil)
                return .rebalanced
            case .revoked(let error):
                (assigned, ends) = (nil, nil)
                if let error { try report(error) }
                return .rebalanced
            case .records(let batch):
                let answers = try take(batch)
                return .answers(answers, ends: try ends?.takeReached(asking: member.consumer) ?? [:])
            }
        } catch {
            // The next poll joins again.
            leave()
            throw error
        }
    }

    private func joined() throws(KafkaError) -> GroupConsumer {
        if let member { return member }
        var hooks = hooks
        hooks.onError = watch.noticed
        let member = try GroupConsumer(of: [topics.results], configuration: consumerConfiguration, hooks: hooks)
        self.member = member
        return member
    }

    private func take(_ batch: RecordBatch) throws(KafkaError) -> [AnswerRecord] {
        var answers: [AnswerRecord] = []
        for element in batch {
            switch element {
            case .record(let record):
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                answers.append((partition, record.offset, record.timestamp ?? 0, record.value))
                ends?.passed(partition, next: record.offset + 1)
            case .endOfPartition(let partition, let next): ends?.ended(partition, next: next)
            case .failure(_, let error): try report(error)
            }
        }
        return answers
    }

    /// Throws an error that will never go away, and reports any other to the watch.
    private func report(_ error: KafkaError) throws(KafkaError) {
        guard !error.code.isOffsetReset, !error.code.isHopeless, !error.code.isDamage else { throw error }
        watch.noticed(error)
    }

    package func positions() throws(KafkaError) -> Positions? {
        guard let partitions = assigned else { return nil }
        let consumer = try joined().consumer
        let committed = try consumer.committed(partitions, timeout: Self.callTimeout)
        // Looked up after the committed offsets, so that those lie below the ends.
        let logs = try consumer.watermarks(of: partitions, timeout: Self.callTimeout)
        knownEnds = logs.mapValues(\.upperBound)
        var positions: Positions = [:]
        for partition in partitions {
            guard let log = logs[partition] else { throw KafkaError(code: .timedOut, isRetriable: true) }
            let position = (committed[partition] ?? nil) ?? log.lowerBound
            positions[partition] = (log.lowerBound...log.upperBound).contains(position) ? position : log.lowerBound
        }
        return positions
    }

    package func start(at positions: Positions) throws(KafkaError) {
        try joined().start(at: positions)
        ends = EndTracker(from: positions, known: knownEnds)
    }

    package func commit(_ positions: Positions) throws(KafkaError) { try joined().consumer.commit(positions) }

    // MARK: - Refills

    package func send(_ refills: [Refill]) throws(KafkaError) {
        let client = if let producer { producer } else { try Producer(configuration: producerConfiguration, hooks: hooks) }
        // Kept only if all records are acknowledged. Dropping it withdraws those still in its queue.
        producer = nil
        var (due, failure) = (0, KafkaError?.none)
        func makeRoom() -> Bool {
            client.poll(timeout: .milliseconds(10))
            return failure == nil
        }
        for refill in refills {
            try retrying(while: makeRoom) { () throws(KafkaError) in
                // A store's answers and its restocks have the same partition.
                try client.produce(
                    topic: topics.restocks, partition: refill.partition, key: Array(refill.store.utf8), value: refill.value,
                    timestamp: refill.time
                ) { result in
                    due -= 1
                    if case .failure(let error) = result { failure = failure ?? error }
                }
                due += 1
            }
        }
        while due > 0, failure == nil { client.poll(timeout: .milliseconds(100)) }
        if let failure { throw failure }
        producer = client
    }
}

/// Detects when partitions have been read to their ends.
///
/// A consumer reports the end of a partition only after a fetch has waited there in vain (`enable.partition.eof`), which may never
/// happen under load. So the ends are also looked up once a second, and count as reached once reading has passed them.
private struct EndTracker {
    /// The next offset to read of each partition.
    private var next: Positions
    /// The ends known at the start. A leader that has just taken over may report earlier ones.
    private let known: Positions
    /// The partitions reported to be at their ends since the last were taken.
    private var reached: Positions = [:]
    private var hasRead = false
    private var goal: UnreadRanges?
    private var lookedUpAt = ContinuousClock.now

    init(from positions: Positions, known: Positions) { (next, self.known) = (positions, known) }

    /// A record was read.
    mutating func passed(_ partition: TopicPartition, next offset: Offset) {
        (reached[partition], hasRead) = (nil, true)
        advance(partition, offset)
    }

    /// The consumer reports the end of a partition.
    mutating func ended(_ partition: TopicPartition, next offset: Offset) {
        advance(partition, offset)
        if offset >= known[partition] ?? 0 { reached[partition] = offset }
    }

    private mutating func advance(_ partition: TopicPartition, _ offset: Offset) {
        guard next[partition] != nil else { return }
        next[partition] = offset
        goal?.passed(partition, next: offset)
    }

    /// The partitions that have been read to their ends with the last batch, with the offset of their next record. Looks up the
    /// ends if that is due.
    mutating func takeReached(asking consumer: Consumer) throws(KafkaError) -> Positions {
        defer { (reached, hasRead) = ([:], false) }
        if goal?.isEmpty ?? false {
            goal = nil
            return next
        }
        if goal == nil, hasRead, .now - lookedUpAt > .seconds(1) {
            lookedUpAt = .now
            let ends = try consumer.endOffsets(of: Array(next.keys), timeout: .seconds(2))
            let unread = next.map { ($0, $1..<max($1, ends[$0] ?? $1)) }
            goal = UnreadRanges(Dictionary(uniqueKeysWithValues: unread))
        }
        return reached
    }
}
