import JuiceMaker
import JuiceMessages

/// The loop that consumes commands, applies them, and commits their answers in transactions.
///
/// It is a state machine over a ``CommandLog``. Each ``step()`` makes at most one call on the log that can wait or change
/// anything. So a driver, be it a thread or a simulation, may stop, crash or interleave workers between any two calls.
///
/// A transaction is one batch: all commands at hand, up to a limit. With little traffic it is committed at once; under load
/// batches grow while the previous one is being committed. No transaction is open while the log is polled, so no rebalance
/// can come in the middle of one.
///
/// There is one way to recover from errors: undo in memory, make new producers, and take the partitions over anew.
///
/// ```
///                         ┌─────────── readingBack ◀──────────┐ some repeats need older answers
///                         ▼                                   │
/// starting ─▶ polling ─▶ beginning ─▶ processing ─▶ flushing ─▶ committing ─▶ polling
///               │ ▲                  └───────────────┬───────────────┘
///    assigned   ▼ │                                  ▼ failed
///            takingOver ◀────────────────────── startingOver
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

    private enum Phase {
        case starting
        case polling
        case takingOver(Takeover)
        case checking(LogCheck)
        case beginning(Batch)
        case processing(Batch)
        case flushing(Output.HeldBack)
        case committing
        case readingBack(AnswerReadBack)
        case startingOver
        case stopped
        case failed(LogError)
    }

    private let log: Log
    private let settings: WorkerSettings
    private let rules: Takeover.Rules
    private let onEvent: (WorkerEvent) -> Void
    private var processor: CommandProcessor
    private var phase = Phase.starting
    /// What this worker is to read; nil without an assignment.
    private var share: InputShare?
    /// The states of the partitions that are taken over and read.
    package private(set) var partitions = PartitionTable()
    /// The states of partitions that are not read now: valid as long as nobody else writes to their journal.
    private var kept = PartitionTable()
    /// The ids of producers that have claimed nothing yet.
    private var unclaimedIDs: [String] = []
    /// Where this worker's last claims stand.
    private var claims: [Int32: Offset] = [:]
    /// The ends of the journals of stopped partitions, which grow once somebody has repaired them.
    private var stopped: [Int32: Offset] = [:]
    /// Where inputs were read to their ends, past markers that no record shows.
    private var readEnds: [InputPartition: Offset] = [:]
    /// Places at which an input was found to be another log than the one that was read.
    private var mismatches: [InputMismatch] = []
    /// Recent failures, and what follows from them for the next batch.
    private var trouble: Trouble
    /// Commands that were polled, and wait until the answers are read back that some of them repeat.
    private var rest = Batch()
    private var timers = WorkerTimers()
    private var summary = TransactionSummary()
    /// Answers that were read back since the last transaction.
    private var answersReadBack = 0
    private var begunAt: Timestamp = 0
    /// Failed calls since the last that succeeded.
    private var failedCalls = 0
    private var isStopping = false

    /// The attempt after which the pause between retries grows no longer.
    private static var longestRetryBackoff: Int { 5 }

    /// How often a stopping worker tries to end the transaction it left open.
    private static var farewellAttempts: Int { 3 }

    /// A worker that has not begun.
    ///
    /// - Parameters:
    ///   - log: where commands come from and answers go.
    ///   - settings: what it is to know.
    ///   - onEvent: called from within ``step()``.
    public init(log: Log, settings: WorkerSettings, onEvent: @escaping (WorkerEvent) -> Void) {
        self.log = log
        self.settings = settings
        self.onEvent = onEvent
        trouble = Trouble(maxBatch: settings.maxBatch)
        processor = CommandProcessor(menu: settings.menu, language: settings.language, partitionCount: settings.partitionCount)
        rules = Takeover.Rules(settings)
    }

    /// What it holds in memory.
    public var held: HeldState {
        HeldState(
            partitions: partitions.reduce(0) { count, _ in count + 1 },
            stores: partitions.reduce(0) { $0 + $1.applied.stores.count },
            commands: partitions.reduce(0) { $0 + $1.applied.duplicates.count })
    }

    /// Makes the worker finish the transaction at hand, leave its group and stop.
    public mutating func requestStop() { isStopping = true }

    /// Takes the next step.
    public mutating func step() -> Step {
        do throws(LogError) {
            let step = try advance()
            failedCalls = 0
            return step
        } catch { return recover(from: error) }
    }

    private mutating func advance() throws(LogError) -> Step {
        switch phase {
        case .starting:
            if isStopping { return leave() }
            // Early, since a new client takes long to connect. The ids claim nothing before the first assignment.
            unclaimedIDs = try log.initTransactions()
            onEvent(.started)
            phase = .polling
        case .polling: return try poll()
        case .takingOver(let takeover):
            if isStopping { return leave() }
            try advance(takeover)
        case .checking(let check):
            if isStopping { return leave() }
            try advance(check)
        case .beginning(let batch):
            try log.begin()
            begunAt = log.now
            trouble.began(batch)
            phase = .processing(batch)
        case .processing(let batch): try process(batch)
        case .flushing(let heldBack):
            try log.flush()
            try heldBack.write(to: log)
            phase = .committing
        case .committing:
            try log.commit()
            try keepChanges()
        case .readingBack(let readBack):
            if isStopping { return leave() }
            try advance(readBack)
        case .startingOver: return try startOver()
        case .stopped: return .stopped
        case .failed(let error): return .failed(error)
        }
        return .worked
    }

    private mutating func recover(from error: LogError) -> Step {
        switch error.remedy {
        case .retry:
            failedCalls += 1
            onEvent(.retrying(error, attempt: failedCalls))
            // The next check will do, and commands should not wait for it.
            if case .checking = phase {
                timers.checked(at: log.now)
                phase = .polling
            }
            // Such a call has usually waited already, and continues in the background.
            return .backOff(attempt: min(failedCalls, Self.longestRetryBackoff))
        case .startOver:
            onEvent(.startingOver(error))
            if let failing = blame(for: error) { onEvent(.partitionFailing(failing.partition, failing.fault)) }
            keepStates()
            (unclaimedIDs, rest) = ([], Batch())
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

    /// Counts a failure.
    ///
    /// - Returns: the partition that is set aside for it, if any, and why.
    private mutating func blame(for error: LogError) -> (partition: Int32, fault: PartitionFault)? {
        switch phase {
        case _ where error.subject == .connection: break
        case .processing, .flushing, .committing: return trouble.failed(error, at: log.now)
        case .takingOver(let takeover) where !takeover.claiming.isEmpty:
            return trouble.claimsFailed(takeover.claiming, error, at: log.now)
        default: break
        }
        trouble.failedForOtherReasons()
        return nil
    }

    /// A failed producer is never used again: a transaction that is aborted and followed by another in the same epoch could be
    /// ended by a late request of the first. The next takeover makes new ones.
    private mutating func startOver() throws(LogError) -> Step {
        // Also when stopping: an open transaction would keep its partitions from being restored elsewhere.
        if isStopping, failedCalls >= Self.farewellAttempts { return leave() }
        try log.start(at: [])
        // A cluster may need seconds to elect a coordinator. A member that does not poll meanwhile loses its membership.
        if try handleRebalance() { return .worked }
        unclaimedIDs = try log.initTransactions()
        if isStopping { return leave() }
        phase = .polling
        if let share { takeOver(share) }
        return .worked
    }

    private mutating func leave() -> Step {
        publish()
        log.leave()
        onEvent(.left)
        phase = .stopped
        return .stopped
    }
}

// MARK: - Transactions

extension Worker {
    private mutating func process(_ batch: Batch) throws(LogError) {
        var output = Output(log, trouble.treatment)
        (output.summary.answersReadBack, answersReadBack) = (answersReadBack, 0)
        let now = log.now
        let homes = Set(batch.partitions.map { $0 % settings.partitionCount })
        for state in partitions {
            let mayNote = homes.isEmpty || homes.contains(state.partition)
            let note =
                mayNote
                ? state.dueNote(at: now, interval: settings.noteInterval, stockEnd: log.writtenStockEnd(of: state.partition)) : nil
            if note != nil || batch.count == 0 || state.isStockDue(at: now) {
                try output.writeStock(of: state, encoder: processor.encoder)
                state.wroteStock(at: now)
            }
            guard let note else { continue }
            try output.journal(state.partition, note)
            state.noted(at: now)
        }
        // The first record of every partition goes first, so that the log can add all partitions to the transaction at once. In
        // its run the record is skipped, since it is already applied.
        var waiting: Set<Int32> = []
        var rest: [ArraySlice<CommandRecord>] = []
        for (index, records) in (batch.firsts + batch.runs).enumerated() {
            guard let partition = records.first?.partition, let state = partitions[partition % settings.partitionCount] else {
                continue
            }
            var left = records
            if !waiting.contains(state.partition) {
                let count = try processor.process(records, at: now, state: &state.applied, output: &output)
                left = records.dropFirst(count)
            }
            guard !left.isEmpty else { continue }
            waiting.insert(state.partition)
            if index >= batch.firsts.count { rest.append(left) }
        }
        self.rest = Batch(runs: rest)
        summary = output.summary
        phase = output.mustFlush ? .flushing(output.heldBack) : .committing
    }

    private mutating func keepChanges() throws(LogError) {
        let now = log.now
        for state in partitions { try state.commit(at: now, log.writtenResults(of: state.partition)) }
        timers.committed(at: now, commands: summary.commands)
        onEvent(.committed(summary))
        // A transaction without commands proves nothing; those that failed may fail again.
        if summary.commands > 0 {
            for partition in trouble.committed(after: now - begunAt) { onEvent(.partitionRecovered(partition)) }
        }
        if rest.count > 0 { readBack(at: now) } else { phase = .polling }
    }
}

// MARK: - Reading answers back

extension Worker {
    /// Begins to read the answers that the rest of the batch waits for.
    private mutating func readBack(at now: Timestamp) {
        var wanted: [Int32: Set<Offset>] = [:]
        // Before it is asked what is missing: a cancel may need two answers at once.
        for partition in rest.partitions { partitions[partition % settings.partitionCount]?.applied.duplicates.beginReadBack() }
        for records in rest.runs {
            guard let partition = records.first?.partition, let state = partitions[partition % settings.partitionCount] else {
                continue
            }
            let most = AnswerReadBack.most - (wanted[state.partition]?.count ?? 0)
            let missing = processor.missing(for: records, at: now, state.applied, most: most)
            if !missing.isEmpty { wanted[state.partition, default: []].formUnion(missing) }
        }
        phase = .readingBack(AnswerReadBack(wanted))
    }

    private mutating func advance(_ readBack: AnswerReadBack) throws(LogError) {
        var readBack = readBack
        switch readBack.action {
        case .openChangelog(let positions):
            // They are known to be committed, and this reads in smaller pieces.
            try log.openChangelog(positions, isolation: .uncommitted)
            readBack.opened()
        case .readChangelog: try readBack.read(try log.readChangelog(), into: partitions, by: rules.reader, now: log.now)
        case .finish: return try finish(readBack)
        }
        phase = .readingBack(readBack)
    }

    private mutating func finish(_ readBack: AnswerReadBack) throws(LogError) {
        if let (partition, offset) = readBack.lost.min(by: { $0.key < $1.key }) {
            // It expired, or only the journal tells where it stands.
            for partition in readBack.lost.keys { partitions[partition] = nil }
            throw LogError(.startOver, "the answer at offset \(offset) of results [\(partition)] is not there")
        }
        answersReadBack += readBack.count
        phase = .beginning(rest)
        guard !readBack.damages.isEmpty else { return }
        for (partition, damage) in readBack.damages {
            let fault = PartitionFault(
                .journal, at: damage.offset, "results [\(partition)]: \(damage.reason)",
                anchors: partitions[partition]?.positions ?? [])
            stop(partition, fault, journalEnd: partitions[partition]?.seenResults ?? 0)
        }
        try log.start(at: partitions.flatMap(\.positions))
        (rest, phase) = (Batch(), .polling)
    }
}

// MARK: - Polling

extension Worker {
    private mutating func poll() throws(LogError) -> Step {
        if isStopping { return leave() }
        if let share, isAnyPauseOver(share) {
            // Taking the partitions over tells whether those that were set aside work again.
            keepStates()
            takeOver(share)
            return .worked
        }
        let now = log.now
        if timers.isCheckDue(at: now), share != nil {
            phase = .checking(LogCheck(partitions.map(\.partition), stopped: stopped))
            return .worked
        }
        if timers.isPublishDue(at: now) { publish() }
        switch try log.poll(maxRecords: trouble.limit, wait: hasWork(at: now) ? .never : .briefly) {
        case .records(let records, let ends):
            for end in ends { readEnds[InputPartition(topic: end.topic, partition: end.partition)] = end.offset }
            if let stray = firstStray(in: records) {
                stop(at: stray, "a record claims to be at offset \(stray.offset) again")
                try log.start(at: partitions.flatMap(\.positions))
                return .worked
            }
            guard records.isEmpty else {
                phase = .beginning(Batch(records))
                return .worked
            }
            // Nothing is at hand, so there is time to write the stock that changed, and notes before the last ones expire.
            guard hasWork(at: log.now) else { return .idle }
            phase = .beginning(Batch())
        case .damaged(let position, let reason):
            stop(at: position, reason)
            try log.start(at: partitions.flatMap(\.positions))
        case .assigned(let share): assign(share)
        case .revoked: revoke()
        }
        return .worked
    }

    /// The first record whose offset is not beyond those before it. No checksum covers the offset of a batch of records.
    private func firstStray(in records: [CommandRecord]) -> InputPosition? {
        var next: [InputPartition: Offset] = [:]
        var index = 0
        while index < records.count {
            let first = records[index]
            let input = InputPartition(topic: first.topic, partition: first.partition)
            let state = partitions[first.partition % settings.partitionCount]
            var expected = next[input] ?? state?.applied.positions[input] ?? 0
            while index < records.count, records[index].topic == first.topic, records[index].partition == first.partition {
                if records[index].offset < expected {
                    return InputPosition(topic: first.topic, partition: first.partition, offset: records[index].offset)
                }
                expected = records[index].offset + 1
                index += 1
            }
            next[input] = expected
        }
        return nil
    }

    /// Positions at an end are published past trailing markers. Otherwise a partition that is read to its end would seem to lag.
    private func publish() {
        let positions = partitions.flatMap(\.positions).map { position in
            InputPosition(
                topic: position.topic, partition: position.partition,
                offset: max(position.offset, readEnds[InputPartition(topic: position.topic, partition: position.partition)] ?? 0))
        }
        if !positions.isEmpty { log.publish(positions) }
    }

    private func hasWork(at now: Timestamp) -> Bool {
        timers.isQuiet(at: now)
            && partitions.contains { $0.isNoteOld(at: now, settings.noteInterval) || $0.applied.stores.hasUnwritten }
    }

    private func isAnyPauseOver(_ share: InputShare) -> Bool {
        share.partitions.contains { partitions[$0] == nil && trouble.isFailing($0) && !trouble.isAside($0, at: log.now) }
    }

    /// Lets the group change the assignment in the middle of something that can take long. No commands are read.
    ///
    /// - Returns: whether the assignment changed.
    private mutating func handleRebalance() throws(LogError) -> Bool {
        switch try log.poll(maxRecords: 1, wait: .never) {
        case .assigned(let share): assign(share)
        case .revoked: revoke()
        // Left over from before `start(at:)`, which will read them again.
        case .records, .damaged: return false
        }
        return true
    }

    private mutating func assign(_ share: InputShare) {
        onEvent(.assigned(share.partitions))
        self.share = share
        // Starting over takes them over by itself, once it has producers.
        if case .startingOver = phase { return }
        takeOver(share)
    }

    private mutating func revoke() {
        onEvent(.revoked)
        share = nil
        (claims, stopped, mismatches) = ([:], [:], [])
        trouble.forgetPartitions()
        if case .startingOver = phase { return }
        keepStates()
        phase = .polling
    }

    /// Keeps the states as of their last known commit. Taking over tells whether that still is the last.
    private mutating func keepStates() {
        if case .takingOver(let takeover) = phase { kept = takeover.kept }
        for state in partitions {
            state.undo()
            kept[state.partition] = state
        }
        partitions = PartitionTable()
    }

    /// Stops reading a partition. It stays in the assignment, so that no other worker reads on past the fault.
    private mutating func stop(_ partition: Int32, _ fault: PartitionFault, journalEnd: Offset) {
        partitions[partition] = nil
        stopped[partition] = journalEnd
        onEvent(.partitionStopped(partition, fault))
    }

    /// Stops the partition whose input cannot be read on at this place.
    private mutating func stop(at position: InputPosition, _ reason: String) {
        let partition = position.partition % settings.partitionCount
        guard let state = partitions[partition] else { return }
        let input = InputPartition(topic: position.topic, partition: position.partition)
        let last = max(position.offset, state.applied.positions[input] ?? 0)
        let after = InputPosition(topic: position.topic, partition: position.partition, offset: last + 1)
        let fault = PartitionFault(.input(input), at: last, "\(input.text) is damaged: \(reason)", anchors: [after])
        stop(partition, fault, journalEnd: state.seenResults)
    }
}

// MARK: - Taking over

extension Worker {
    private mutating func takeOver(_ share: InputShare) {
        let now = log.now
        phase = .takingOver(
            Takeover(
                share: share, ids: unclaimedIDs, kept: kept,
                leavingOut: share.partitions.filter { trouble.isUnclaimable($0, at: now) }, claimLimit: trouble.claimLimit,
                mismatches: mismatches, rules: rules))
        kept = PartitionTable()
        (unclaimedIDs, mismatches, readEnds) = ([], [], [:])
    }

    /// Taking over can take long. So before each part of it the worker handles a rebalance or a request to stop.
    private mutating func advance(_ takeover: Takeover) throws(LogError) {
        if try handleRebalance() { return }
        if case .finish = takeover.action { return try finish(takeover) }
        for waiting in try takeover.perform(on: log) {
            let isNews = trouble.setAside(waiting.partition, .leaderless, at: log.now)
            if isNews { onEvent(.partitionFailing(waiting.partition, waiting.fault)) }
        }
        try checkForRival(takeover)
    }

    /// Two groups on the same topics would take the partitions from each other for ever.
    private func checkForRival(_ takeover: Takeover) throws(LogError) {
        guard let rival = takeover.rival(of: claims) else { return }
        throw LogError(
            .stop,
            "the group \"\(rival.group)\" (instance \"\(rival.instance)\") has taken over partitions of the group"
                + " \"\(settings.group)\": only one group may serve these topics")
    }

    private mutating func finish(_ takeover: Takeover) throws(LogError) {
        let now = log.now
        let states = takeover.states
        let aside = PartitionTable(states.filter { trouble.isAside($0.partition, at: now) })
        let reading = PartitionTable(states.filter { aside[$0.partition] == nil })
        try log.start(at: reading.flatMap(\.positions))
        for state in states where trouble.restored(state.partition) { onEvent(.partitionRecovered(state.partition)) }
        (partitions, kept, stopped) = (reading, aside, [:])
        claims.merge(takeover.claims) { $1 }
        if !takeover.forgotten.isEmpty { log.publish(takeover.forgotten) }
        for refusal in takeover.refusals {
            stop(refusal.partition, refusal.fault, journalEnd: takeover.journalEnds[refusal.partition] ?? 0)
        }
        for partition in takeover.rewritten { onEvent(.stockRewritten(partition)) }
        timers.tookOver(at: now)
        trouble.claimed()
        let held = held
        onEvent(
            .restored(
                partitions: partitions.map(\.partition),
                RestoredState(stores: held.stores, commands: held.commands, records: takeover.recordCount)))
        phase = .polling
    }
}

// MARK: - Whether the logs are still the same

extension Worker {
    private mutating func advance(_ check: LogCheck) throws(LogError) {
        var check = check
        switch check.action {
        case .findExtents(let partitions):
            // A partition without a leader is found out by its transactions.
            check.found(try log.extents(of: partitions).extents, partitions: self.partitions)
        case .openChangelog(let positions):
            try log.openChangelog(positions, isolation: .committed)
            check.opened()
        case .readChangelog: check.read(try log.readChangelog())
        case .readBack(let ranges):
            let (records, damaged) = try log.readBack(ranges)
            check.compare(records, damaged: damaged, by: rules.commands)
        case .finish: return try finish(check)
        }
        phase = .checking(check)
    }

    private mutating func finish(_ check: LogCheck) throws(LogError) {
        timers.checked(at: log.now)
        phase = .polling
        for state in partitions { check.confirm(state) }
        guard let share, !check.mismatches.isEmpty || check.mustTakeOver else { return }
        // Somebody else has written to a journal, or an input has changed. Taking over tells who or what.
        mismatches = check.mismatches
        keepStates()
        takeOver(share)
    }
}
