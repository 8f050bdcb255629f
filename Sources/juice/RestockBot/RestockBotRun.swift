import JuiceMessages
import JuiceRestockBot
import JuiceService
import Kafka
import Logging

/// A restock bot from start to end, on the thread that calls ``run(until:show:)``.
///
/// It is an exactly-once Kafka application of its own: the bots of a group share the partitions of the answers, and each
/// writes the refills of its stores together with the position up to which it has read their answers. Whatever goes wrong,
/// it looks anew how things stand and decides from there.
final class RestockBotRun {
    private enum Stage {
        /// No partitions, or nothing known of them.
        case idle
        case restoring(BotRestore)
        case watching

        var isWatching: Bool {
            if case .watching = self { true } else { false }
        }
    }

    private struct Watched {
        var watch: ShortageWatch
        /// The next answer to read.
        var position: Offset
        /// Nothing is decided before here.
        let knownFrom: Offset
    }

    private let clients: BotClients
    private let topics: TopicNames
    private let decoder = AnswerDecoder()
    private let writer: RefillWriter
    private var membership: BotMembership?
    private var stage = Stage.idle
    /// What the group gave this bot; nil before it did.
    private var assigned: [Int32]?
    private var watched: [Int32: Watched] = [:]
    private var written: [TopicPartition: Offset] = [:]
    private var writtenAt = ContinuousClock.now
    private var decidedAt = ContinuousClock.now
    /// Whether everything that is short is refilled and answered, as far as the answers are read.
    private var isSettled = false
    private var troubles = 0
    private var resumesAt = ContinuousClock.now
    private var endsBy: ContinuousClock.Instant?
    private var voice: BotVoice
    private let isEnded: () -> Bool
    private let show: (Refill) -> Void

    private static let maxRecords = 10_000
    /// How often positions are written while nothing is refilled.
    private static let writeInterval = Duration.seconds(5)
    /// Under load there is always another answer to read; decisions do not wait for ever for the last.
    private static let decisionInterval = Duration.seconds(1)
    /// How long the last transaction may take once somebody wants it to end.
    private static let closingTime = Duration.seconds(3)

    /// - Parameters:
    ///   - isEnded: whether somebody wants it to end; asked all the time.
    ///   - show: takes each refill once it is written.
    init(
        _ connection: Connection,
        _ plan: RestockBotPlan,
        logger: Logger,
        isEnded: @escaping () -> Bool,
        show: @escaping (Refill) -> Void
    ) {
        clients = BotClients(connection, plan, logger: logger)
        topics = connection.topics
        writer = RefillWriter(clients)
        voice = BotVoice(logger: logger, target: plan.rules.target)
        self.isEnded = isEnded
        self.show = show
    }

    /// Watches and refills.
    func run() throws(Failure) {
        let deadline = clients.plan.onceWithin.map(Deadline.init(after:))
        guard try clients.findTopics(deadline, isEnded: isEnded) else { return }
        defer { leave() }
        while !isEnded() {
            if let deadline {
                if isSettled { return }
                if deadline.isOver { throw unsettled }
            }
            try step()
        }
    }

    private var unsettled: Failure {
        let underway = watched.values.reduce(0) { $0 + $1.watch.underway }
        guard underway > 0 else {
            return Failure(.unavailable, "not done in time; a longer --timeout may help")
        }
        return Failure(
            .unavailable,
            "\(underway) refills are not answered yet",
            hint: "they are written, and will be answered once the service runs; they are not sent again"
        )
    }
}

// MARK: - Steps

extension RestockBotRun {
    private func step() throws(Failure) {
        let membership = try joined()
        let event: BotMembership.Event
        do throws(KafkaError) {
            event = try membership.poll(maxRecords: Self.maxRecords, timeout: waitingTime)
        } catch {
            return try rejoin(after: error)
        }
        var isDrained = true
        switch event {
        case .assigned(let partitions):
            clients.watch.reached()
            forget()
            assigned = partitions
        case .revoked:
            forget()
            assigned = nil
        case .batch(let batch):
            isDrained = batch.count < Self.maxRecords
            try take(batch)
        }
        if clients.watch.needsProbe { clients.probe(membership.consumer) }
        guard .now >= resumesAt else { return }
        try advance(membership, isDrained: isDrained)
    }

    private var waitingTime: Duration {
        if case .restoring = stage { return .zero }
        return assigned == nil ? .milliseconds(10) : .milliseconds(100)
    }

    private func joined() throws(Failure) -> BotMembership {
        if let membership { return membership }
        let membership = try BotMembership(clients)
        self.membership = membership
        return membership
    }

    private func advance(_ membership: BotMembership, isDrained: Bool) throws(Failure) {
        switch stage {
        case .idle:
            guard let assigned else { return }
            stage = .restoring(try BotRestore(assigned, membership, ownName: writer.name, clients))
        case .restoring(let restore):
            do throws(KafkaError) {
                guard let partitions = try restore.step() else { return }
                try begin(partitions, membership)
            } catch {
                if error.remedy == .retry { return clients.probe(membership.consumer) }
                return try lookAnew(after: error)
            }
            // Whose the partitions are is noted before the first refill: see FormerBots.
            if stage.isWatching { try write([], membership) }
        case .watching:
            try decide(membership, isDrained: isDrained)
        }
    }

    private func begin(
        _ partitions: [Int32: BotRestore.Partition],
        _ membership: BotMembership
    ) throws(KafkaError) {
        try membership.start(at: partitions.mapValues(\.answers.lowerBound))
        watched = partitions.mapValues {
            Watched(watch: $0.watch, position: $0.answers.lowerBound, knownFrom: $0.answers.upperBound)
        }
        stage = .watching
        voice.watching(partitions.keys.sorted(), underway: underway)
    }

    private var underway: Int { watched.values.reduce(0) { $0 + $1.watch.underway } }

    private func take(_ batch: RecordBatch) throws(Failure) {
        isSettled = isSettled && batch.isEmpty
        for element in batch {
            switch element {
            case .record(let record):
                guard watched[record.partition] != nil else { continue }
                // What is no answer that this version knows says nothing of the stock either.
                if let value = record.value, let answer = try? decoder.decode(value) {
                    let notices = watched[record.partition]?.watch.note(answer, at: record.offset) ?? []
                    for notice in notices { voice.note(notice) }
                }
                watched[record.partition]?.position = record.offset + 1
            case .endOfPartition(let partition, let next):
                watched[partition.partition]?.position = next
            case .failure(_, let error)
            where error.code == .autoOffsetReset || error.code == .offsetOutOfRange:
                return try lookAnew(after: error)
            case .failure(_, let error):
                guard !error.code.isHopeless else { throw clients.connection.failure(error) }
                clients.watch.noticed(error)
            }
        }
    }

    private func decide(_ membership: BotMembership, isDrained: Bool) throws(Failure) {
        guard isDrained || .now - decidedAt > Self.decisionInterval else { return }
        decidedAt = .now
        var refills: [Refill] = []
        var isKnown = true
        for number in watched.keys.sorted() {
            guard let partition = watched[number] else { continue }
            guard partition.position >= partition.knownFrom else {
                isKnown = false
                continue
            }
            refills += watched[number]?.watch.takeRefills(at: partition.position) ?? []
        }
        voice.waits(for: underway, now: .now)
        if !refills.isEmpty || positions != written && .now - writtenAt > Self.writeInterval {
            try write(refills, membership)
        }
        isSettled = isKnown && isDrained && underway == 0 && stage.isWatching
    }

    /// From where a successor is to read on.
    private var positions: [TopicPartition: Offset] {
        Dictionary(
            uniqueKeysWithValues: watched.map { number, watched in
                (
                    TopicPartition(topic: topics.results, partition: number),
                    watched.watch.safePosition(at: watched.position)
                )
            }
        )
    }
}

// MARK: - Writing

extension RestockBotRun {
    private func write(_ refills: [Refill], _ membership: BotMembership) throws(Failure) {
        let positions = positions
        guard !positions.isEmpty else { return }
        switch writer.write(refills, positions: positions, of: membership, while: isWorthWaiting) {
        case .committed:
            written = positions
            writtenAt = .now
            troubles = 0
            voice.committed()
            for refill in refills { show(refill) }
            // The embedded broker forgets offsets that are sent in a transaction.
            if clients.connection.isEmbedded { try? membership.consumer.commit(positions) }
        case .lost(let error): try lookAnew(after: error)
        case .givenUp: forget()
        }
    }

    private func isWorthWaiting() -> Bool {
        guard isEnded() else { return true }
        let end = endsBy ?? .now + Self.closingTime
        endsBy = end
        return .now < end
    }

    private func leave() {
        // So that a successor need not read the last answers again; it would decide the same.
        if let membership, stage.isWatching, positions != written, troubles == 0, !clients.watch.needsProbe {
            _ = writer.write([], positions: positions, of: membership, while: isWorthWaiting)
        }
        forget()
        membership?.consumer.close()
        membership = nil
    }
}

// MARK: - Trouble

extension RestockBotRun {
    /// Nothing is known any more.
    private func forget() {
        stage = .idle
        watched = [:]
        written = [:]
        isSettled = false
    }

    private func lookAnew(after error: KafkaError) throws(Failure) {
        guard !error.code.isHopeless else { throw clients.connection.failure(error) }
        voice.lost(error)
        forget()
        backOff()
    }

    private func rejoin(after error: KafkaError) throws(Failure) {
        try lookAnew(after: error)
        assigned = nil
        // An error that ended one attempt to join is not the end of the membership.
        guard error.remedy == .startOver else { return }
        membership?.consumer.close()
        membership = nil
    }

    /// 20 ms after the first failure, doubled with each up to a second.
    private func backOff() {
        troubles += 1
        resumesAt = .now + .milliseconds(min(1000, 10 << min(troubles, 7)))
    }
}
