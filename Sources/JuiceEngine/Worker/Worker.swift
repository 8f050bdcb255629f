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
/// ```
/// starting ─▶ polling ─▶ beginning ─▶ processing ─▶ sendingOffsets ─▶ committing ─▶ polling
///               │ ▲                  └───────── requires abort ─────────┘
///    assigned   ▼ │                                    ▼
///            restoring ◀── startingOver             aborting ─▶ rewinding ─▶ polling
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

    /// What one transaction takes in.
    struct Batch {
        /// The records as they came, those of one partition that stand together as one element.
        private(set) var runs: [ArraySlice<CommandRecord>] = []
        /// Each partition's first record.
        private(set) var firsts: [ArraySlice<CommandRecord>] = []
        let ends: [InputPosition]

        init(_ records: [CommandRecord] = [], ends: [InputPosition] = []) {
            self.ends = ends
            var rest = records[...]
            while let partition = rest.first?.partition {
                let run = rest.prefix { $0.partition == partition }
                if !runs.contains(where: { $0.first?.partition == partition }) {
                    firsts.append(run.prefix(1))
                }
                runs.append(run)
                rest = rest[run.endIndex...]
            }
        }
    }

    enum Phase {
        case starting
        case polling
        case restoring(Restore)
        case beginning(Batch)
        case processing(Batch)
        case sendingOffsets
        case committing
        case aborting(LogError)
        case rewinding
        case startingOver
        case stopped
        case failed(LogError)
    }

    let log: Log
    let maxBatch: Int
    let factory: PartitionFactory
    let onEvent: (WorkerEvent) -> Void
    private var processor: CommandProcessor
    var phase = Phase.starting
    /// What the group gave this worker.
    var assignment: [Int32] = []
    /// The state of those of them that are restored and may be read.
    var partitions = PartitionTable()
    /// The state of partitions that the group took back: good as long as nobody commits anything for them.
    var kept = PartitionTable()
    private var summary = TransactionSummary()
    /// Failed calls since the last one that worked.
    private var failedCalls = 0
    /// Transactions given up since the last one that was committed.
    private var failedTransactions = 0
    /// Whether the log has refused a record for its size since the last transaction that was committed.
    private var hasRefusedSize = false
    var isStopping = false

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
        self.init(
            log: log,
            menu: menu,
            language: language,
            partitionCount: partitionCount,
            window: window,
            maxBatch: maxBatch,
            stateType: PartitionState.self,
            onEvent: onEvent
        )
    }

    /// - Parameter stateType: lets a test take something out of the partitions' state and see what comes of it.
    package init(
        log: Log,
        menu: Menu,
        language: Language,
        partitionCount: Int32,
        window: DuplicateWindow,
        maxBatch: Int,
        stateType: PartitionState.Type,
        onEvent: @escaping (WorkerEvent) -> Void
    ) {
        self.log = log
        self.maxBatch = maxBatch
        self.onEvent = onEvent
        factory = PartitionFactory(
            menu: menu,
            language: language,
            window: window,
            partitionCount: partitionCount,
            stateType: stateType
        )
        processor = CommandProcessor(menu: menu, language: language, partitionCount: partitionCount)
    }

    /// What it holds in memory, as of now.
    public var held: HeldState {
        HeldState(
            partitions: partitions.reduce(0) { count, _ in count + 1 },
            stores: partitions.reduce(0) { $0 + $1.applied.stores.count },
            commands: partitions.reduce(0) { $0 + $1.applied.duplicates.count }
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
        case .aborting(let cause):
            try log.abort()
            undoChanges(because: cause)
            return .backOff(attempt: failedTransactions)
        case .rewinding:
            try startReading()
            phase = .polling
            return .worked
        case .startingOver:
            if isStopping { return leave() }
            try log.start(at: [])
            try log.initTransactions()
            restore(assignment)
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
        // A record that the broker refuses for its size would keep its partition from ever going on.
        processor.relay.abridges = hasRefusedSize
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
        for state in partitions { state.commit(at: now) }
        // One that only claims partitions shows nothing: what makes commands fail may go on.
        if summary.commands > 0 {
            failedTransactions = 0
            hasRefusedSize = false
        }
        onEvent(.committed(summary))
        phase = .polling
    }

    private mutating func undoChanges(because cause: LogError) {
        for state in partitions { state.undo() }
        onEvent(.aborted(cause))
        phase = .rewinding
    }

    private mutating func recover(from error: LogError) -> Step {
        switch error.remedy {
        case .retry:
            failedCalls += 1
            onEvent(.retrying(error, attempt: failedCalls))
            return .backOff(attempt: failedCalls)
        case .abort where mayAbort:
            failedTransactions += 1
            hasRefusedSize = hasRefusedSize || error.isRecordTooLarge
            phase = .aborting(error)
            return .worked
        case .abort, .startOver:
            failedTransactions += 1
            onEvent(.startingOver(error))
            keepStates(partitions)
            if case .starting = phase {} else { phase = .startingOver }
            return .backOff(attempt: failedTransactions)
        case .stop:
            onEvent(.failed(error))
            log.leave()
            phase = .failed(error)
            return .failed(error)
        }
    }

    /// Whether an abort undoes what was done. It does not after an attempt to commit whose outcome is unknown: that has to
    /// be looked up in the log.
    private var mayAbort: Bool {
        switch phase {
        case .processing, .sendingOffsets: true
        case .committing: failedCalls == 0
        default: false
        }
    }
}
