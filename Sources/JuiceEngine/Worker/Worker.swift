import JuiceMaker
import JuiceMessages

/// The loop that consumes commands, applies them, and commits answers, stock and offsets in one transaction.
///
/// It is a state machine over a ``CommandLog``. Each ``step()`` makes at most one call on the log that can wait or change
/// anything. So a driver, be it a thread or a simulation, may stop, crash or interleave workers between any two calls.
///
/// A transaction is one batch: all commands at hand, up to a limit. With little traffic it is committed at once; under load
/// batches grow while the previous one is being committed. No transaction is open while the log is polled, so no rebalance
/// can come in the middle of one. The first transaction after a restore has no commands and only claims the partitions.
///
/// There is one way to recover from errors: undo in memory, drop the producers, make new ones, and read the committed offsets.
///
/// ```
/// starting ─▶ polling ─▶ beginning ─▶ processing ─▶ sendingOffsets ─▶ committing ─▶ polling
///               │ ▲                  └───────────────┬────────────────────┘
///    assigned   ▼ │                                  ▼ failed
///            restoring ◀───────────────────── startingOver
///               └─▶ beginning
/// ```
public struct Worker<Log: CommandLog> {
    /// How a step went, for the driver.
    public enum Step: Equatable, Sendable {
        /// It did something. Go on.
        case worked
        /// There was nothing to do. The log has already waited.
        case idle
        /// The next step tries again. Wait longer with each attempt, counted from 1.
        case backOff(attempt: Int)
        /// The worker left its group and takes no further step.
        case stopped
        /// The worker cannot go on and takes no further step.
        case failed(LogError)
    }

    enum Phase {
        case starting
        case polling
        case restoring(Restore)
        case beginning(Batch)
        case processing(Batch)
        case sendingOffsets
        case committing
        case startingOver
        case stopped
        case failed(LogError)
    }

    let log: Log
    let applier: ChangelogApplier
    let onEvent: (WorkerEvent) -> Void
    private var processor: CommandProcessor
    var phase = Phase.starting
    /// The partitions assigned to this worker.
    var assignment: [Int32] = []
    /// The states of those that are restored and read.
    package internal(set) var partitions = PartitionTable()
    /// The states of partitions that are not read now: valid as long as no other worker commits for them.
    var kept = PartitionTable()
    /// Recent failures, and what follows from them for the next batch.
    var trouble: Trouble
    private var summary = TransactionSummary()
    private var begunAt: Timestamp = 0
    /// Failed calls since the last that succeeded.
    private var failedCalls = 0
    var isStopping = false

    /// The attempt after which the pause between retries grows no longer.
    private static var longestRetryBackoff: Int { 5 }

    /// How often a stopping worker tries to end the transaction it left open.
    private static var farewellAttempts: Int { 3 }

    /// A worker that has not begun.
    ///
    /// - Parameters:
    ///   - log: where commands come from and answers go.
    ///   - menu: the juices, and the initial stock.
    ///   - language: the language of messages in answers.
    ///   - partitionCount: how many partitions the stores are spread over.
    ///   - window: how long repeats of a command are known.
    ///   - maxBatch: the most commands in one transaction.
    ///   - onEvent: called from within ``step()``.
    public init(
        log: Log,
        menu: Menu,
        language: Language,
        partitionCount: Int32,
        window: DuplicateWindow = .standard,
        maxBatch: Int = 10_000,
        onEvent: @escaping (WorkerEvent) -> Void
    ) {
        self.log = log
        trouble = Trouble(maxBatch: maxBatch)
        self.onEvent = onEvent
        processor = CommandProcessor(menu: menu, language: language, partitionCount: partitionCount)
        applier = ChangelogApplier(
            encoder: processor.encoder,
            menu: menu,
            window: window,
            partitionCount: partitionCount
        )
    }

    /// What it holds in memory.
    public var held: HeldState {
        HeldState(
            partitions: partitions.reduce(0) { count, _ in count + 1 },
            stores: partitions.reduce(0) { $0 + $1.applied.stores.count },
            commands: partitions.reduce(0) { $0 + $1.applied.duplicates.count },
            extraBytes: partitions.reduce(0) { $0 + $1.applied.duplicates.extraBytes }
        )
    }

    /// Makes the worker finish the transaction at hand, leave its group and stop.
    public mutating func requestStop() { isStopping = true }

    /// Takes the next step.
    public mutating func step() -> Step {
        do throws(LogError) {
            let step = try advance()
            failedCalls = 0
            return step
        } catch {
            return recover(from: error)
        }
    }

    private mutating func advance() throws(LogError) -> Step {
        switch phase {
        case .starting:
            if isStopping { return leave() }
            try log.initTransactions()
            onEvent(.started)
            phase = .polling
            return .worked
        case .polling:
            return try poll()
        case .restoring(let restore):
            return try advance(restore)
        case .beginning(let batch):
            try log.begin()
            begunAt = log.now
            trouble.began(batch)
            phase = .processing(batch)
            return .worked
        case .processing(let batch):
            try process(batch)
            phase = .sendingOffsets
            return .worked
        case .sendingOffsets:
            try log.sendOffsets(partitions.flatMap(\.uncommittedPositions))
            phase = .committing
            return .worked
        case .committing:
            try log.commit()
            keepChanges()
            return .worked
        case .startingOver:
            // Also when stopping: an open transaction would keep its partitions from being restored elsewhere.
            if isStopping, failedCalls >= Self.farewellAttempts { return leave() }
            try log.start(at: [])
            // A cluster may need seconds to elect a coordinator. A member that does not poll meanwhile loses its membership.
            if try handleRebalance() { return .worked }
            try log.initTransactions()
            if isStopping { return leave() }
            phase = .polling
            if !assignment.isEmpty { restore(assignment) }
            return .worked
        case .stopped:
            return .stopped
        case .failed(let error):
            return .failed(error)
        }
    }
}

// MARK: - Transactions

extension Worker {
    private mutating func process(_ batch: Batch) throws(LogError) {
        summary = TransactionSummary()
        processor.treatment = trouble.treatment
        var output = Output(log)
        let now = log.now
        // The first record of every partition goes first, so that the log can add all partitions to the transaction at once. In
        // its run the record is skipped, since it is already applied.
        for records in batch.firsts + batch.runs {
            guard let partition = records.first?.partition, let state = partitions[partition] else {
                continue
            }
            try processor.process(records, at: now, state: &state.applied, output: &output, summary: &summary)
        }
        for end in batch.ends { _ = partitions[end.partition]?.applied.advance(end.topic, to: end.offset) }
        for state in partitions {
            try output.writeStock(of: state, encoder: processor.encoder, summary: &summary)
        }
    }

    private mutating func keepChanges() {
        let now = log.now
        for state in partitions { summary.forgottenEarly += state.commit(at: now) }
        onEvent(.committed(summary))
        // A claim-only transaction proves nothing; the commands that failed may fail again.
        if summary.commands > 0 {
            for partition in trouble.committed(after: now - begunAt) {
                onEvent(.partitionRecovered(partition))
            }
        }
        phase = .polling
    }

    private mutating func recover(from error: LogError) -> Step {
        switch error.remedy {
        case .retry:
            failedCalls += 1
            onEvent(.retrying(error, attempt: failedCalls))
            // Such a call has usually waited already, and continues in the background.
            return .backOff(attempt: min(failedCalls, Self.longestRetryBackoff))
        case .startOver:
            onEvent(.startingOver(error))
            if !isInTransaction || error.subject == .connection {
                trouble.failedForOtherReasons()
            } else if let failing = trouble.failed(error, at: log.now) {
                onEvent(.partitionFailing(failing.partition, failing.fault))
            }
            keepStates()
            if case .starting = phase {} else { phase = .startingOver }
            // A refused record needs no pause: halving the batch isolates it.
            return error.subject == .record ? .worked : .backOff(attempt: trouble.failures)
        case .stop:
            onEvent(.failed(error))
            log.leave()
            phase = .failed(error)
            return .failed(error)
        }
    }

    private var isInTransaction: Bool {
        switch phase {
        case .processing, .sendingOffsets, .committing: true
        default: false
        }
    }
}
