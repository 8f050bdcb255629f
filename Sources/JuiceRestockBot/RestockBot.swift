import JuiceMessages
import Kafka

/// Sends refills for what answers show to be short: each at least once, under an id that follows from the answers, so that the
/// service makes it once.
///
/// - It decides about a partition only when it has read that to its end, and sends in the same step. A bot that was paused
///   hears first what happened meanwhile.
/// - It commits positions only up to the oldest answer that shows a shortage without an answered refill. So a successor sees that
///   answer too, and decides the same.
/// - Whatever goes wrong, it forgets all it knows and reads again from the committed positions.
///
/// It is a state machine: a driver may stop, crash or interleave bots between any two steps.
package struct RestockBot<Log: AnswerLog> {
    /// How a step went: go on, go on after so long, or the bot cannot go on.
    package enum Step { case worked, backOff(Duration), failed(KafkaError) }

    private let log: Log
    private let rules: RefillRules
    private let group: String
    private let onEvent: (BotEvent) -> Void
    private let decoder = AnswerDecoder()
    /// What is known of the partitions that the group gave this bot; nil before they are read.
    private var watches: [TopicPartition: ShortageWatch]?
    /// Those that are not read to their end, as far as is known.
    private var unread: Set<TopicPartition> = []
    private var committed: Positions = [:]
    private var committedAt = ContinuousClock.now
    private var backoff = Backoff()

    /// A bot of that group, whose name is part of every refill's id. `onEvent` is called from within steps.
    package init(log: Log, rules: RefillRules, group: String, onEvent: @escaping (BotEvent) -> Void) {
        (self.log, self.rules, self.group, self.onEvent) = (log, rules, group, onEvent)
    }

    /// How many refills that it has sent have no answer.
    package var underway: Int { watches?.values.reduce(0) { $0 + $1.underway } ?? 0 }
    /// What it has to do; nil before it reads what its group gave it.
    package var work: BotWork? {
        watches.map { watches in
            BotWork(
                partitions: watches.count,
                unreadPartitions: unread.count,
                shortStores: watches.values.reduce(0) { $0 + $1.unsettled },
                underway: underway
            )
        }
    }
    /// Whether everything that the answers show to be short is refilled and answered.
    package var isSettled: Bool { unread.isEmpty && watches?.values.allSatisfy(\.isSettled) ?? false }

    /// Does the next thing. Positions are committed every 5 seconds.
    package mutating func step(now: ContinuousClock.Instant = .now) -> Step {
        do throws(KafkaError) {
            try advance(now)
            return .worked
        } catch {
            watches = nil
            guard !error.code.isHopeless else { return .failed(error) }
            onEvent(.lost(error))
            return .backOff(backoff.failed())
        }
    }

    /// Leaves, and commits what it can before, so that a successor need not read it again. No step follows.
    package mutating func stop(commits: Bool) {
        if commits { try? commit(.now) }
        log.leave()
    }

    private mutating func advance(_ now: ContinuousClock.Instant) throws(KafkaError) {
        guard case .answers(let answers, let ends) = try log.poll() else { return watches = nil }
        guard watches != nil else { return try begin(now) }
        for answer in answers { note(answer) }
        for (partition, next) in ends {
            unread.remove(partition)
            watches?[partition]?.passed(next)
        }
        try refill(ends.keys.sorted { $0.partition < $1.partition })
        if now - committedAt > .seconds(5) { try commit(now) }
    }

    private mutating func begin(_ now: ContinuousClock.Instant) throws(KafkaError) {
        guard let positions = try log.positions() else { return }
        try log.start(at: positions)
        watches = positions.reduce(into: [:]) {
            let ids = RefillIDs(group: group, partition: $1.key.partition)
            $0[$1.key] = ShortageWatch(rules: rules, ids: ids, position: $1.value)
        }
        (unread, committed, committedAt) = (Set(positions.keys), positions, now)
        onEvent(.watching(unread.map(\.partition).sorted()))
    }

    private mutating func note(_ record: AnswerRecord) {
        unread.insert(record.partition)
        watches?[record.partition]?.passed(record.offset + 1)
        // What is no answer that this version knows says nothing of the stock either.
        guard let value = record.value, let answer = try? decoder.decode(value) else { return }
        let events = watches?[record.partition]?.note(answer, at: (record.offset, record.time)) ?? []
        for event in events { onEvent(event) }
    }

    private mutating func refill(_ partitions: [TopicPartition]) throws(KafkaError) {
        let refills = partitions.flatMap { watches?[$0]?.takeRefills() ?? [] }
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
        var positions = committed
        for partition in committed.keys { positions[partition] = watches?[partition]?.safePosition() }
        guard watches != nil, positions != committed else { return }
        try log.commit(positions)
        committed = positions
    }
}

/// What a bot has to do.
package struct BotWork {
    let partitions: Int
    /// Those that are not read to their ends.
    let unreadPartitions: Int
    /// Those that are short of something that can be refilled, or whose refill has no answer.
    let shortStores: Int
    /// Refills without an answer.
    package let underway: Int

    /// That of a bot that reads nothing.
    package static let none = BotWork(partitions: 0, unreadPartitions: 0, shortStores: 0, underway: 0)
}

/// What somebody may want to know of a bot.
package enum BotEvent {
    case watching([Int32])
    case beyondTarget(fruit: String, needed: Int)
    case sent([Refill])
    /// A refill has an answer. The service may not have taken it.
    case answered, rejected(Answer)
    /// Nothing is known any more, until all is read to the end and what that shows is sent.
    case lost(KafkaError), recovered
}
