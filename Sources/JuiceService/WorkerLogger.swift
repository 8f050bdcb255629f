import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Turns a worker's events into log lines: one for each change of state, none for a repetition.
struct WorkerLogger {
    private let logger: Logger
    private let configuration: ServiceConfiguration
    private let now: () -> ContinuousClock.Instant
    private var isRetrying = false
    private var isStartingOver = false
    private var isClockRefused = false
    private var failing: Set<Int32> = []
    /// Dead letters not logged yet.
    private var heldBack: [DeadLetterReason: DeadLetters] = [:]
    /// When dead letters of each reason may be logged again. A client with write access can cause thousands, which must not become
    /// as many lines.
    private var dueAt: [DeadLetterReason: ContinuousClock.Instant] = [:]
    /// After this many failed attempts in a row, about five seconds with their pauses, an operator should look.
    static let attemptsBeforeWarning = 12

    /// - Parameter now: the clock that spaces recurring lines.
    init(logger: Logger, configuration: ServiceConfiguration, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        (self.logger, self.configuration, self.now) = (logger, configuration, now)
    }

    mutating func log(_ event: WorkerEvent) {
        switch event {
        case .started: logger.debug("transactional ids taken over")
        case .assigned(let partitions): logger.info("assigned; restoring", metadata: Self.metadata(partitions))
        case .resumed(let partitions, _): logger.info("goes on; restores the others", metadata: Self.metadata(partitions))
        case .revoked:
            failing = []
            logger.info("partitions given up")
        case .restored(let partitions, let state, let records):
            // A restore that only repeats failed work is not news.
            logger.log(
                level: isStartingOver || !failing.isEmpty ? .debug : .notice,
                partitions.isEmpty
                    ? "no partition to read"
                    : """
                    ready: \(state.stores.counted("store")), \(state.commands.counted("command")) remembered, \
                    \(records.counted("record")) read
                    """,
                metadata: Self.metadata(partitions))
        case .committed(let summary):
            if summary.commands > 0 {
                if isRetrying || isStartingOver { logger.notice("transactions commit again") }
                (isRetrying, isStartingOver, isClockRefused) = (false, false, false)
            }
            for letters in summary.deadLettersByReason {
                let none = DeadLetters(letters.reason, first: letters.first, count: 0)
                heldBack[letters.reason, default: none].count += letters.count
            }
            logDueDeadLetters()
            logger.trace("committed", metadata: ["commands": "\(summary.commands)", "stores": "\(summary.storesWritten)"])
        case .retrying(let error, let attempt):
            // A few are normal, for example while a predecessor's transaction is being decided.
            isRetrying = isRetrying || attempt == Self.attemptsBeforeWarning
            let level: Logger.Level = attempt == Self.attemptsBeforeWarning ? .warning : .debug
            logger.log(level: level, "trying again: \(error.message)")
        case .startingOver(let error):
            logger.log(
                level: isStartingOver ? .debug : .warning, "starting over with new producers and restored state: \(error.message)")
            isStartingOver = true
        case .clockRefused(let error):
            // Each attempt would say the same.
            logger.log(
                level: isClockRefused ? .debug : .critical,
                """
                brokers refuse the time of this machine's clock. Its partitions are left to other instances, and it tries again \
                from time to time: \(error.message)
                """)
            (isClockRefused, isStartingOver) = (true, true)
        case .partitionStopped(let partition, let fault):
            logger.critical(
                "partition stopped, its commands wait: \(fault.reason). To go on: \(configuration.fix(fault, of: partition))",
                metadata: place(partition, fault)
            )
        case .partitionFailing(let partition, let fault):
            failing.insert(partition)
            var end = ""
            switch fault.kind {
            case .transaction: end = ". It ends with its timeout, or with: \(configuration.fix(fault, of: partition))"
            case .owner: end = ". To go on: \(configuration.fix(fault, of: partition))"
            case .deadly: end = ". The last lines of these processes may say why. See docs/OPERATIONS.md#damaged-records"
            default: break
            }
            logger.critical(
                "partition only fails, its commands wait and are tried again now and then: \(fault.reason)\(end)",
                metadata: place(partition, fault))
        case .partitionRecovered(let partition):
            failing.remove(partition)
            logger.notice("partition works again", metadata: ["partition": "\(partition)"])
        case .stockRewritten(let partition):
            logger.warning(
                """
                the stock topic was recreated or lost records, or another program wrote to it: all of the partition's stock is \
                written again
                """,
                metadata: ["partition": "\(partition)", "topic": "\(configuration.topics.stock)"])
        case .answersDeleted(let partition, let time):
            let until = Date(milliseconds: time).formatted(.iso8601)
            logger.critical(
                """
                answers were deleted that repeats may still ask for: only this instance knows their commands. Do not restart it, \
                or start another one, before commands sent after \(until) are answered, and check the topic's retention
                """,
                metadata: ["partition": "\(partition)", "topic": "\(configuration.topics.results)"])
        case .failed(let error):
            dueAt = [:]
            logDueDeadLetters()
            // The service itself logs a missing right, and what it does about it.
            logger.log(level: error.subject == .right ? .debug : .critical, "\(error.message)")
        case .left:
            dueAt = [:]
            logDueDeadLetters()
            logger.info("left the consumer group")
        }
    }

    /// Logs dead letters, one line a second for each reason. Also called after every step, since no event follows the last of a
    /// series.
    mutating func logDueDeadLetters() {
        guard !heldBack.isEmpty else { return }
        let now = now()
        for (reason, letters) in heldBack.sorted(by: { $0.key.code < $1.key.code }) where dueAt[reason].map({ now >= $0 }) ?? true {
            dueAt[reason] = now + .seconds(1)
            heldBack[reason] = nil
            let others = letters.count == 1 ? "" : ", and \(letters.count - 1) more after it"
            logger.warning(
                "written as a dead letter: \(reason.message)\(others)",
                metadata: [
                    "code": "\(reason.code)", "topic": "\(configuration.topics[letters.first.topic])",
                    "partition": "\(letters.first.partition)", "offset": "\(letters.first.offset)",
                ])
        }
    }

    private func place(_ partition: Int32, _ fault: PartitionFault) -> Logger.Metadata {
        let topics = configuration.topics
        let topic =
            switch fault.kind {
            case .input(let input), .deadly(let input): topics[input.topic]
            case .journal, .answers, .owner: topics.results
            case .stock: topics.stock
            case .record(let topic): topics[topic]
            case .topic(let topic): topics[topic]
            case .leader(let topic): topic
            case .transaction(let topic): topics[topic.topic]
            }
        var place: Logger.Metadata = ["partition": "\(partition)", "topic": "\(topic)"]
        place["offset"] = fault.offset.map { "\($0)" }
        return place
    }

    private static func metadata(_ partitions: [Int32]) -> Logger.Metadata {
        ["partitions": "\(partitions.map(String.init).joined(separator: ","))"]
    }
}

extension ServiceConfiguration {
    /// What an operator can do about a stopped partition: usually write an anchor, after a look at what it would skip or read
    /// again.
    func fix(_ fault: PartitionFault, of partition: Int32) -> String {
        switch fault.kind {
        case .record, .topic, .leader, .deadly: "fix what the reason names"
        case .transaction(let topic): abortCommand(topics[topic.topic, partition], from: fault.offset ?? 0)
        case .owner(let id):
            kafkaCommand("transactions", bootstrapServers, "describe --transactional-id \(id)")
                + " shows its state. If that is not a"
                + " Prepare state, and stays, restart the broker that the command names as CoordinatorId"
        case .stock, .journal, .answers, .input:
            fault.anchors.isEmpty
                ? "if a replica is intact, make its broker the leader and restart the instance; otherwise recreate the topic, as"
                    + " docs/OPERATIONS.md#recreated-topics says"
                : fault.anchors.map { anchorCommand($0, accepting: fault.missing) }.joined(separator: " && ")
                    + " (first with --dry-run, which shows what is skipped and what is read again). See docs/OPERATIONS.md#anchors."
                    + " In topics copied from another cluster run only juice anchor --copied: docs/OPERATIONS.md#another-cluster"
        }
    }

    /// The command that ends a transaction left open by another program.
    func abortCommand(_ place: TopicPartition, from offset: Offset) -> String {
        kafkaCommand(
            "transactions", bootstrapServers,
            "abort --topic \(place.topic) --partition \(place.partition) --start-offset \(offset)")
    }

    private func anchorCommand(_ position: InputPosition, accepting missing: Int64) -> String {
        topics.command("anchor", bootstrapServers) + (group == "juice-maker" ? "" : " --group \(group)")
            + " --topic \(position.topic) --partition \(position.partition) --offset \(position.offset)"
            + (missing > 0 ? " --accept \(missing)" : "")
    }
}

extension Date {
    init(milliseconds: Timestamp) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
