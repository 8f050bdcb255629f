import JuiceMessages
import Kafka

/// Sends refills for shortages that answers show: a consumer group that reads the answers, and an idempotent producer. Each refill
/// is sent at least once, under an id that follows from the answers, so that the service makes it once.
///
/// - It decides about a partition only once it has read to an end that was looked up within the last second. So a bot that was away
///   first reads what happened meanwhile.
/// - It commits offsets only up to the oldest answer that shows a shortage without an answered refill. So a successor reads
///   that answer again and decides the same.
/// - After any error it discards its state and reads again from the committed offsets.
///
/// It belongs to one thread.
package final class RestockBot {
    private let group: String
    private let topics: TopicNames
    private let rules: RefillRules
    private let consumerConfiguration, producerConfiguration: KafkaConfiguration
    private let hooks: ClientHooks
    private let onEvent: (BotEvent) -> Void
    private let decoder = AnswerDecoder()
    private var member: GroupConsumer?
    /// What the group has assigned; nil without an assignment.
    private var assigned: [TopicPartition]?
    /// The state of the assigned partitions; nil before reading has begun.
    private var partitions: [TopicPartition: PartitionShortages]?
    private var ends: [TopicPartition: Offset] = [:]
    private var committed: [TopicPartition: Offset] = [:]
    private var (endsAt, committedAt) = (ContinuousClock.now, ContinuousClock.now)
    private var producer: Producer?
    private var backoff = Backoff()

    /// A bot that joins the group at its first step, as a dynamic member, so that one host can run several bots.
    ///
    /// - Parameters:
    ///   - group: the consumer group, whose name is part of every refill's id.
    ///   - onEvent: called from within ``step()``.
    package init(
        base: KafkaConfiguration, group: String, topics: TopicNames, rules: RefillRules, capabilities: BrokerCapabilities,
        hooks: ClientHooks, onEvent: @escaping (BotEvent) -> Void
    ) {
        (self.group, self.topics, self.rules, self.hooks, self.onEvent) = (group, topics, rules, hooks, onEvent)
        consumerConfiguration = KafkaConfiguration([
            "queued.max.messages.kbytes": "16384", "session.timeout.ms": "10000",
            "heartbeat.interval.ms": "1000", "max.poll.interval.ms": "60000", "socket.timeout.ms": "10000",
            "partition.assignment.strategy": "range", "isolation.level": "read_committed",
        ])
        .merging(capabilities.consumerProperties).merging(base.properties)
        .merging([
            "group.id": group, "enable.auto.commit": "false", "enable.auto.offset.store": "false",
            // The last records before an end may be transaction markers, which only this event passes.
            "enable.partition.eof": "true", "auto.offset.reset": "error",
        ])
        // A refill that is not delivered within this time is decided again.
        producerConfiguration = KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "5000"]).merging(base.properties)
            .merging(["enable.idempotence": "true"])
    }

    deinit { leave() }

    /// What it has to do; nil before it reads its assignment.
    package var work: BotWork? {
        partitions.map { partitions in
            let states = partitions.values
            return BotWork(
                partitions: partitions.count, unreadPartitions: partitions.keys.count { !isRead($0) },
                shortStores: states.reduce(0) { $0 + $1.unsettled }, underway: states.reduce(0) { $0 + $1.underway })
        }
    }

    private func isRead(_ partition: TopicPartition) -> Bool { partitions?[partition]?.position ?? 0 >= ends[partition] ?? .max }

    /// Polls once and acts on it. Commits offsets every 5 seconds.
    ///
    /// - Returns: how long to wait before the next step: after an error that may go away, longer each time.
    /// - Throws: ``KafkaError`` if the bot cannot go on.
    package func step() throws(KafkaError) -> Duration {
        do throws(KafkaError) {
            // Events of a client wait until it is polled.
            producer?.poll(timeout: .zero)
            if let batch = try receive() { try process(batch) }
            return .zero
        } catch {
            partitions = nil
            guard !error.code.isHopeless else { throw error }
            onEvent(.lost(error))
            return backoff.failed()
        }
    }

    /// Leaves the group; the next step joins again.
    ///
    /// - Parameter isCommitting: whether to commit what it can, so that a successor need not read it again.
    package func leave(isCommitting: Bool = false) {
        if isCommitting { try? commit() }
        member?.close()
        (member, assigned, partitions) = (nil, nil, nil)
    }

    /// Polls the group: the records at hand, or nil after a rebalance. After an error it is no longer a member.
    private func receive() throws(KafkaError) -> RecordBatch? {
        do throws(KafkaError) {
            let member =
                if let member { member } else {
                    try GroupConsumer(of: [topics.results], configuration: consumerConfiguration, hooks: hooks)
                }
            self.member = member
            // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
            let wait = !member.hasAssignment ? 10 : partitions == nil ? 0 : 100
            switch try member.poll(maxRecords: 10_000, timeout: .milliseconds(wait)) {
            case .assigned(let partitions): (assigned, self.partitions) = (partitions, nil)
            case .revoked(let error):
                (assigned, partitions) = (nil, nil)
                if let error { try report(error) }
            case .records(let batch):
                for case .failure(_, let error) in batch { try report(error) }
                return batch
            }
            return nil
        } catch {
            leave()
            throw error
        }
    }

    /// Throws an error that will never go away; any other is noticed like those in the background.
    private func report(_ error: KafkaError) throws(KafkaError) {
        guard !error.code.isOffsetReset, !error.code.isHopeless, !error.code.isDamage else { throw error }
        hooks.onError?(error)
    }

    /// Applies answers, decides, sends and commits.
    private func process(_ batch: RecordBatch) throws(KafkaError) {
        guard let member, let assigned else { return }
        guard partitions != nil else { return try begin(member, assigned) }
        for element in batch {
            switch element {
            case .record(let record):
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                partitions?[partition]?.advance(to: record.offset + 1)
                // A record that is not a known answer tells nothing about the stock.
                guard let value = record.value, let answer = try? decoder.decode(value) else { continue }
                partitions?[partition]?.apply(answer, at: (record.offset, record.timestamp ?? 0)).forEach(onEvent)
            case .endOfPartition(let partition, let next): partitions?[partition]?.advance(to: next)
            case .failure: break
            }
        }
        let isDue = partitions?.values.contains { $0.unsettled > $0.underway } ?? false
        if isDue || !batch.isEmpty, .now - endsAt > .seconds(1) {
            endsAt = .now
            ends = try member.consumer.endOffsets(of: assigned, timeout: .seconds(2))
        }
        // Few enough that the next poll is not too late for the group.
        for refill in assigned.filter(isRead).flatMap({ partitions?[$0]?.startRefills(atMost: 100) ?? [] }) {
            try send(refill)
            onEvent(.sent(refill))
        }
        if backoff.failures > 0, assigned.allSatisfy(isRead) {
            backoff = Backoff()
            onEvent(.recovered)
        }
        if .now - committedAt > .seconds(5) { try commit() }
    }

    /// Begins at the committed offsets or, where none is committed or it has expired, at the oldest answers.
    private func begin(_ member: GroupConsumer, _ assigned: [TopicPartition]) throws(KafkaError) {
        let committed = try member.consumer.committed(assigned, timeout: .seconds(2))
        // Looked up after the committed offsets, so that those lie below the ends.
        let logs = try member.consumer.watermarks(of: assigned, timeout: .seconds(2))
        guard logs.count == assigned.count else { throw KafkaError(code: .timedOut, isRetriable: true) }
        let states: [TopicPartition: PartitionShortages] = logs.reduce(into: [:]) { states, log in
            let span = log.value.lowerBound...log.value.upperBound
            let start = committed[log.key]?.flatMap { span.contains($0) ? $0 : nil } ?? span.lowerBound
            states[log.key] = PartitionShortages(rules: rules, group: group, partition: log.key.partition, position: start)
        }
        self.committed = states.mapValues(\.position)
        try member.start(at: self.committed)
        (partitions, ends, endsAt, committedAt) = (states, logs.mapValues(\.upperBound), .now, .now)
        onEvent(.watching(assigned.map(\.partition).sorted()))
    }

    /// Writes a refill and waits until it is acknowledged; after an error, it may be written all the same, even later.
    private func send(_ refill: Refill) throws(KafkaError) {
        let client = if let producer { producer } else { try Producer(configuration: producerConfiguration, hooks: hooks) }
        // Kept only if it delivers: one that expired or met a fatal error would deliver nothing any more.
        producer = nil
        // A store's answers and its restocks have the same partition.
        try client.send(
            topic: topics.restocks, partition: refill.partition, key: Array(refill.store.utf8), value: refill.value,
            timestamp: refill.time, timeout: .seconds(10))
        producer = client
    }

    /// Fails if the partitions belong to another bot by now.
    private func commit() throws(KafkaError) {
        committedAt = .now
        guard let offsets = partitions?.mapValues(\.safePosition), offsets != committed else { return }
        try member?.consumer.commit(offsets)
        committed = offsets
    }
}

/// What a bot has to do.
package struct BotWork {
    /// Partitions assigned to it, and those of them that it has not read to their ends.
    package let partitions, unreadPartitions: Int
    /// Stores with a shortage that can be refilled, or with a refill that has no answer.
    package let shortStores: Int
    /// Refills that it has sent and that have no answer.
    package let underway: Int

    /// Whether every shortage in the answers is refilled and that answered.
    package var isSettled: Bool { unreadPartitions + shortStores == 0 }
}

/// What a bot did, for logs and metrics.
package enum BotEvent {
    /// It reads these partitions.
    case watching([Int32])
    /// It sent a refill, which is acknowledged.
    case sent(Refill)
    /// A refill has its answer, which may be a rejection.
    case answered
    /// The service rejected a refill.
    case rejected(Answer)
    /// It discarded its state after an error, and reads again from the committed offsets.
    case lost(KafkaError)
    /// It has read all partitions to their ends again, and sent what they are short of.
    case recovered
}
