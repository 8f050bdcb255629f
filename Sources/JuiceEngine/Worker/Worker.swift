import JuiceMaker
import JuiceMessages

/// The loop that consumes commands, applies them, and commits answers, stock and offsets in one transaction.
///
/// It is a state machine over a ``CommandLog``. Each ``step()`` makes at most one call on the log that can wait or
/// decide anything, so a driver, be it a thread or a simulation, may stop, crash or interleave workers between any
/// two of them.
///
/// A transaction is one batch: all commands at hand, up to a limit. When little comes it is committed at once, and
/// under load batches grow by themselves while the previous one is being committed. No transaction is ever open
/// while the log is polled, so no change of the assignment can come in the middle of one. The first after a restore has
/// no commands and only claims the partitions.
///
/// There is one way out of trouble: undo in memory, drop the producers, make new ones, and look in the log how things stand.
///
/// ```
/// starting ─▶ polling ─▶ beginning ─▶ processing ─▶ sendingOffsets ─▶ committing ─▶ polling
///               │ ▲                  └───────────────┬────────────────────┘
///    assigned   ▼ │                                  ▼ failed
///            restoring ◀───────────────────── startingOver
///               └─▶ beginning
/// ```
public struct Worker<Log: CommandLog> {
    /// How a step went, for whoever drives the steps.
    public enum Step: Equatable, Sendable {
        /// Something was done; go on.
        case worked
        /// Nothing was there to do; the log has waited already.
        case idle
        /// The same will be tried again; wait a little longer with each attempt, counted from 1.
        case backOff(attempt: Int)
        /// The worker left its group; there is no further step.
        case stopped
        /// The worker cannot go on.
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
    /// What the group gave this worker.
    var assignment: [Int32] = []
    /// The state of those that are restored and may be read.
    package internal(set) var partitions = PartitionTable()
    /// The state of partitions that the group took back: good as long as nobody commits anything for them.
    var kept = PartitionTable()
    /// What failed lately, and what follows from it for the next batch.
    var trouble: Trouble
    private var summary = TransactionSummary()
    private var begunAt: Timestamp = 0
    /// Failed calls since the last one that worked.
    private var failedCalls = 0
    var isStopping = false

    /// The attempt from which on the pause between calls that are to be made again does not grow any more.
    private static var longestRetryBackoff: Int { 5 }

    /// How often a worker that is to stop tries to end what it left open.
    private static var farewellAttempts: Int { 3 }

    /// A worker that has not begun.
    ///
    /// - Parameters:
    ///   - log: where commands come from and answers go.
    ///   - menu: the juices, and what stores have at first.
    ///   - language: of the messages in answers.
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

    /// What it holds in memory, as of now.
    public var held: HeldState {
        HeldState(
            partitions: partitions.reduce(0) { count, _ in count + 1 },
            stores: partitions.reduce(0) { $0 + $1.applied.stores.count },
            commands: partitions.reduce(0) { $0 + $1.applied.duplicates.count },
            templateBytes: partitions.reduce(0) { $0 + $1.applied.duplicates.templateBytes }
        )
    }

    /// Makes the worker finish the transaction at hand, leave its group and stop.
    public mutating func requestStop() { isStopping = true }

    /// Does the next thing.
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
            // Also on the way out: a transaction that is left open would keep its partitions from being restored.
            if isStopping, failedCalls >= Self.farewellAttempts { return leave() }
            try log.start(at: [])
            // A cluster that lost a coordinator needs seconds for another. Who is not polled meanwhile loses its membership.
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
        // The first record of every partition goes first, so that the log soon knows all partitions it has to add to the
        // transaction. It is passed over when its turn comes, since it is applied by then.
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
            // Such a call has mostly waited by itself, and goes on in the background.
            return .backOff(attempt: min(failedCalls, Self.longestRetryBackoff))
        case .startOver:
            onEvent(.startingOver(error))
            if !isInTransaction {
                trouble.failedOutsideTransaction()
            } else if let failing = trouble.failed(error, at: log.now) {
                onEvent(.partitionFailing(failing.partition, failing.fault))
            }
            keepStates()
            if case .starting = phase {} else { phase = .startingOver }
            // A batch that is halved because of a record will sooner or later leave that record alone.
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
