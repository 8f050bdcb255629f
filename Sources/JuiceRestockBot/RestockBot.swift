import JuiceMessages
import Kafka

/// Sends refills for shortages that answers show. Each is sent at least once, under an id that follows from the answers, so
/// that the service makes it once.
///
/// - It decides about a partition only at its end, and sends in the same step. So a paused bot first reads what happened
///   meanwhile.
/// - It commits positions only up to the oldest answer that shows a shortage without an answered refill. So a successor reads
///   that answer again and decides the same.
/// - After any error it discards its state and reads again from the committed positions.
///
/// It is a state machine: a driver may stop, crash or interleave bots between any two steps.
package struct RestockBot<Log: AnswerLog> {
    /// How a step went: go on, go on after a pause, or the bot cannot go on.
    package enum Step { case worked, backOff(Duration), failed(KafkaError) }

    private let log: Log
    private let rules: RefillRules
    private let group: String
    private let onEvent: (BotEvent) -> Void
    private let decoder = AnswerDecoder()
    /// The state of the assigned partitions; nil before reading has begun.
    private var partitions: [TopicPartition: PartitionShortages]?
    /// Those not known to be read to their ends.
    private var unread: Set<TopicPartition> = []
    private var committed: Positions = [:]
    private var committedAt = ContinuousClock.now
    private var backoff = Backoff()

    /// - Parameters:
    ///   - group: the consumer group, whose name is part of every refill's id.
    ///   - onEvent: called from within ``step(now:)``.
    package init(log: Log, rules: RefillRules, group: String, onEvent: @escaping (BotEvent) -> Void) {
        (self.log, self.rules, self.group, self.onEvent) = (log, rules, group, onEvent)
    }

    /// What it has to do; nil before it reads its assignment.
    package var work: BotWork? {
        partitions.map { partitions in
            BotWork(
                partitions: partitions.count, unreadPartitions: unread.count,
                shortStores: partitions.values.reduce(0) { $0 + $1.unsettled }, underway: underway)
        }
    }
    /// How many of the refills it sent have no answer yet.
    package var underway: Int { partitions?.values.reduce(0) { $0 + $1.underway } ?? 0 }
    /// Whether every shortage in the answers is refilled and that answered.
    package var isSettled: Bool { work.map { $0.unreadPartitions + $0.shortStores == 0 } ?? false }

    /// Polls once and acts on it. Commits positions every 5 seconds.
    package mutating func step(now: ContinuousClock.Instant = .now) -> Step {
        do throws(KafkaError) {
            try advance(now)
            return .worked
        } catch {
            partitions = nil
            guard !error.code.isHopeless else { return .failed(error) }
            onEvent(.lost(error))
            return .backOff(backoff.failed())
        }
    }

    /// Commits what it can, so that a successor need not read it again, and leaves the group. No step follows.
    package mutating func commitAndLeave() {
        try? commit(.now)
        leave()
    }

    /// Leaves the group. No step follows.
    package func leave() { log.leave() }

    private mutating func advance(_ now: ContinuousClock.Instant) throws(KafkaError) {
        guard case .answers(let answers, let ends) = try log.poll() else { return partitions = nil }
        guard partitions != nil else { return try begin(now) }
        for answer in answers { read(answer) }
        for (partition, next) in ends {
            unread.remove(partition)
            partitions?[partition]?.advance(to: next)
        }
        try refill(ends.keys.sorted { $0.partition < $1.partition })
        if now - committedAt > .seconds(5) { try commit(now) }
    }

    private mutating func begin(_ now: ContinuousClock.Instant) throws(KafkaError) {
        guard let positions = try log.positions() else { return }
        try log.start(at: positions)
        partitions = positions.reduce(into: [:]) {
            let ids = RefillIDs(group: group, partition: $1.key.partition)
            $0[$1.key] = PartitionShortages(rules: rules, ids: ids, position: $1.value)
        }
        (unread, committed, committedAt) = (Set(positions.keys), positions, now)
        onEvent(.watching(unread.map(\.partition).sorted()))
    }

    private mutating func read(_ record: AnswerRecord) {
        unread.insert(record.partition)
        partitions?[record.partition]?.advance(to: record.offset + 1)
        // A record that is not a known answer tells nothing about the stock.
        guard let value = record.value, let answer = try? decoder.decode(value) else { return }
        partitions?[record.partition]?.apply(answer, at: (record.offset, record.time)).forEach(onEvent)
    }

    private mutating func refill(_ ended: [TopicPartition]) throws(KafkaError) {
        let refills = ended.flatMap { partitions?[$0]?.startRefills() ?? [] }
        if !refills.isEmpty {
            try log.send(refills)
            onEvent(.sent(refills))
        }
        guard unread.isEmpty, backoff.failures > 0 else { return }
        backoff = Backoff()
        onEvent(.recovered)
    }

    private mutating func commit(_ now: ContinuousClock.Instant) throws(KafkaError) {
        committedAt = now
        guard partitions != nil else { return }
        var positions = committed
        for partition in committed.keys { positions[partition] = partitions?[partition]?.safePosition() }
        guard positions != committed else { return }
        try log.commit(positions)
        committed = positions
    }
}

/// What a restock bot needs of Kafka, and nothing else. Tests run the same bot on a simulated log.
package protocol AnswerLog: AnyObject {
    /// Waits a moment for answers or a rebalance. The bytes of the answers stay valid until the next call.
    func poll() throws(KafkaError) -> AnswerPoll
    /// Where to begin in the assigned partitions: at the committed positions or, where none is committed or it has expired,
    /// at the oldest answers. Nil before the first assignment.
    func positions() throws(KafkaError) -> Positions?
    /// Reads these partitions from these positions, and no others.
    func start(at positions: Positions) throws(KafkaError)
    /// Writes refills. Returns once all are acknowledged; after an error, some may be written all the same, even later.
    func send(_ refills: [Refill]) throws(KafkaError)
    /// Commits positions. Fails if the partitions belong to another bot by now.
    func commit(_ positions: Positions) throws(KafkaError)
    /// Leaves the group and closes all clients. No call follows.
    func leave()
}

/// What a poll returned.
package enum AnswerPoll {
    /// The group assigned or revoked partitions. Nothing is read until ``AnswerLog/start(at:)``.
    case rebalanced
    /// The answers at hand, and the partitions that are now read to their ends.
    case answers([AnswerRecord], ends: Positions)
}

/// The offset of the next answer in each partition of the results topic.
package typealias Positions = [TopicPartition: Offset]

/// A record of the results topic. The time is when it was written, in milliseconds since 1970.
package typealias AnswerRecord = (partition: TopicPartition, offset: Offset, time: Int64, value: UnsafeRawBufferPointer?)

/// What a bot has to do.
package struct BotWork {
    /// Partitions assigned to it, and those of them that are not read to their ends.
    let partitions, unreadPartitions: Int
    /// Stores with a shortage that can be refilled, or with a refill that has no answer.
    let shortStores: Int
    /// Refills without an answer.
    let underway: Int

    /// The work of a bot that reads nothing.
    static let none = BotWork(partitions: 0, unreadPartitions: 0, shortStores: 0, underway: 0)
}

/// What a bot did, for logs and metrics.
package enum BotEvent {
    /// It reads these partitions.
    case watching([Int32])
    /// An order needs more of a fruit than the target, so no refill can serve it.
    case beyondTarget(fruit: String, needed: Int)
    /// It sent refills, and all are acknowledged.
    case sent([Refill])
    /// A refill has its answer, which may be a rejection.
    case answered
    /// The service rejected a refill.
    case rejected(Answer)
    /// It discarded its state after an error, and reads again from the committed positions.
    case lost(KafkaError)
    /// It has read all partitions to their ends again, and sent what they are short of.
    case recovered
}
