import JuiceDomain
import JuiceEngine
import JuiceMessages
import Logging

/// Turns a worker's events into log lines: one for each change of state, none for a repetition.
struct WorkerLogger {
    private let logger: Logger
    private let configuration: ServiceConfiguration
    private let now: () -> ContinuousClock.Instant
    private var isRetrying = false
    private var isStartingOver = false
    private var failing: Set<Int32> = []
    /// Dead letters not logged yet: the first of them, and how many.
    private var heldBack: (first: DeadLetter, count: Int)?
    /// When dead letters may be logged again. A client with write access can cause thousands, which must not become as many lines.
    private var deadLettersDueAt: ContinuousClock.Instant?
    /// After this many failed attempts in a row, about five seconds with their pauses, somebody should look.
    private static let attemptsBeforeWarning = 12

    /// - Parameter now: the clock that spaces recurring lines.
    init(logger: Logger, configuration: ServiceConfiguration, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        (self.logger, self.configuration, self.now) = (logger, configuration, now)
    }

    mutating func log(_ event: WorkerEvent) {
        switch event {
        case .started: logger.debug("transactional ids taken over")
        case .assigned(let partitions): logger.info("assigned; restoring", metadata: Self.metadata(partitions))
        case .revoked:
            failing = []
            logger.info("partitions given up")
        case .restored(let partitions, let state):
            // A restore that only repeats failed work is not news.
            logger.log(
                level: isStartingOver || !failing.isEmpty ? .debug : .notice,
                partitions.isEmpty
                    ? "no partition to read"
                    : """
                    ready: \(state.stores.counted("store")), \(state.commands.counted("command")) remembered, \
                    \(state.records.counted("record")) read
                    """,
                metadata: Self.metadata(partitions))
        case .committed(let summary):
            if summary.commands > 0 {
                if isRetrying || isStartingOver { logger.notice("transactions commit again") }
                (isRetrying, isStartingOver) = (false, false)
            }
            if let letter = summary.firstDeadLetter { add(letter, of: summary.deadLetters) }
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
        case .partitionStopped(let partition, let fault):
            logger.critical(
                "partition stopped, its commands wait: \(fault.reason). To go on: \(mend(fault))", metadata: place(partition, fault)
            )
        case .partitionFailing(let partition, let fault):
            failing.insert(partition)
            logger.critical(
                "partition only fails, its commands wait and are tried again now and then: \(fault.reason)",
                metadata: place(partition, fault))
        case .partitionRecovered(let partition):
            failing.remove(partition)
            logger.notice("partition works again", metadata: ["partition": "\(partition)"])
        case .stockRewritten(let partition):
            logger.warning(
                "the stock topic was made anew, or lost its end: all of the partition's stock is written again",
                metadata: ["partition": "\(partition)", "topic": "\(configuration.topics.stock)"])
        case .failed(let error):
            logDeadLetters()
            logger.critical("\(error.message)")
        case .left:
            logDeadLetters()
            logger.info("left the consumer group")
        }
    }

    private mutating func add(_ letter: DeadLetter, of count: Int) {
        heldBack = (heldBack?.first ?? letter, (heldBack?.count ?? 0) + count)
        let now = now()
        guard deadLettersDueAt.map({ now >= $0 }) ?? true else { return }
        deadLettersDueAt = now + .seconds(1)
        logDeadLetters()
    }

    private mutating func logDeadLetters() {
        guard let (letter, count) = heldBack.take() else { return }
        let others = count == 1 ? "" : ", and \(count - 1) more after it"
        logger.warning(
            "put aside as a dead letter: \(letter.reason.message)\(others)",
            metadata: [
                "code": "\(letter.reason.code)", "topic": "\(configuration.topics[letter.position.topic])",
                "partition": "\(letter.position.partition)", "offset": "\(letter.position.offset)",
            ])
    }

    private func place(_ partition: Int32, _ fault: PartitionFault) -> Logger.Metadata {
        let topics = configuration.topics
        let topic =
            switch fault.kind {
            case .input(let input): topics[input.topic]
            case .journal: topics.results
            case .stock: topics.stock
            case .record(let topic): topics[topic]
            case .leader(let topic): topic
            }
        var place: Logger.Metadata = ["partition": "\(partition)", "topic": "\(topic)"]
        place["offset"] = fault.offset.map { "\($0)" }
        return place
    }

    /// What an operator can do: mostly to write an anchor, having seen what would be skipped or read again.
    private func mend(_ fault: PartitionFault) -> String {
        switch fault.kind {
        case .record, .leader: "mend what the reason names"
        case .stock, .journal, .input:
            fault.anchors.isEmpty
                ? "docs/OPERATIONS.md#topics-made-anew says what can be done"
                : fault.anchors.map(anchorCommand).joined(separator: " && ")
                    + " (first with --dry-run, which shows what is skipped and what is read again). See docs/OPERATIONS.md#anchors"
        }
    }

    private func anchorCommand(_ position: InputPosition) -> String {
        let prefix = configuration.topics.prefix
        return "juice anchor --bootstrap-servers \(configuration.bootstrapServers)"
            + (configuration.group == "juice-maker" ? "" : " --group \(configuration.group)")
            + (prefix == TopicNames.standardPrefix ? "" : " --topic-prefix \(prefix)")
            + " --topic \(position.topic) --partition \(position.partition) --offset \(position.offset)"
    }

    private static func metadata(_ partitions: [Int32]) -> Logger.Metadata {
        ["partitions": "\(partitions.map(String.init).joined(separator: ","))"]
    }
}
