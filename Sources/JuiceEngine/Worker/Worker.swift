import JuiceDomain
import JuiceMessages

/// The loop that consumes commands, applies them, and commits their answers in transactions.
///
/// It is a state machine over a ``KafkaPort``. Each ``step()`` makes at most one call on the log that can wait or change
/// anything. So a driver, be it a thread or a simulation, may stop, crash or interleave workers between any two calls.
///
/// A transaction is one batch: all commands at hand, up to a limit. No transaction is open while the log is polled, so no rebalance
/// can come in the middle of one. While some partitions are still being restored, each poll of the others and its transaction are
/// followed by some calls of the restore. docs/ARCHITECTURE.md follows a record through it, and docs/JOURNAL.md says how it
/// recovers from errors.
///
/// ```
///                         ┌─────────── readingBack ◀──────────┐ some repeats need older answers
///                         ▼                                   │
/// starting ─▶ polling ─▶ beginning ─▶ processing ─▶ flushing ─▶ committing ─▶ polling
///               │ ▲                  └───────────────┬───────────────┘
///    assigned   ▼ │                                  ▼ failed
///            takingOver ◀────────────────────── startingOver ◀─ standingAside: brokers refuse this machine's time
/// ```
package struct Worker<Log: KafkaPort> {
    /// How a step went, for the driver.
    package enum Step: Equatable, Sendable {
        /// It did something. Go on.
        case worked
        /// There was nothing to do. The log has already waited.
        case idle
        /// The last transaction began less than the commit interval ago. Make the next step in so many milliseconds.
        case waiting(Timestamp)
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
        case flushing(DeferredRecords)
        case committing
        case readingBack(AnswerReadBack)
        case startingOver
        case standingAside(until: Timestamp)
        case ended(Step)

        /// Whether a stopping worker may leave now. A batch that was begun is finished first.
        var allowsLeaving: Bool {
            switch self {
            case .starting, .polling, .takingOver, .checking, .readingBack, .standingAside: true
            case .beginning, .processing, .flushing, .committing, .startingOver, .ended: false
            }
        }
    }

    private let log: Log
    private let context: WorkerContext
    private let onEvent: (WorkerEvent) -> Void
    private var phase = Phase.starting
    /// The partitions that this worker must read; nil without an assignment.
    private var assignment: InputAssignment?
    /// The states of the partitions that are taken over and read.
    package private(set) var partitions = PartitionTable()
    /// The states of partitions that are not read now, as of their last commit. The next takeover reuses a state if no other worker
    /// has written to its journal.
    private var cached = PartitionTable()
    /// The ids of producers that have claimed nothing yet.
    private var unclaimedIDs: [String] = []
    /// The offsets of this worker's last claims.
    private var claims: [Int32: Offset] = [:]
    /// The ends of the journals of stopped partitions, which grow once an operator has repaired them.
    private var stopped: [Int32: Offset] = [:]
    /// The takeover that still restores some partitions while the others are read, whether the next step is its, and when its turn
    /// ends; nil before the turn has begun.
    private var (restoring, isRestoreNext, turnEnd): (Takeover?, Bool, Timestamp?) = (nil, false, nil)
    /// Where inputs were read to their ends, past markers that no record shows.
    private var readEnds: [InputPartition: Offset] = [:]
    /// Places where an input's log was found not to be the one that was read.
    private var mismatches: [InputMismatch] = []
    private var failures: FailurePolicy
    /// Repeats in the last batch whose answers must be read back first, and the commands behind them.
    private var waiting = Batch()
    private var timers = Timers()
    /// When the next commands may be read.
    private var nextPoll = Timestamp.min
    private var summary = TransactionSummary()
    /// Answers that were read back since the last transaction.
    private var answersReadBack = 0
    /// When the open transaction was begun, and by how much the time of day was ahead of the uptime when its commands were read.
    private var (begunAt, clockOffset): (Timestamp, Timestamp) = (0, 0)
    /// Failed calls since the last that succeeded.
    private var failedCalls = 0
    private var isStopping = false

    /// The attempt after which the pause between retries stops growing.
    private static var longestRetryBackoff: Int { 5 }
    /// Whether a stopping worker has tried to write the stock that changed last.
    private var hasWrittenLast = false
    /// How long a worker leaves its partitions to others after brokers refused this machine's time, in milliseconds.
    private static var timeAside: Timestamp { 60_000 }
    /// How long a restore goes on before commands of other partitions are polled, in milliseconds.
    private static var restoreTurn: Timestamp { 20 }
    /// How many times a stopping worker tries to end the transaction it left open.
    private static var stopAttempts: Int { 3 }

    /// - Parameter onEvent: called from within ``step()``.
    package init(log: Log, settings: WorkerSettings, onEvent: @escaping (WorkerEvent) -> Void) {
        self.log = log
        context = WorkerContext(settings)
        self.onEvent = onEvent
        failures = FailurePolicy(maxBatch: settings.maxBatch, partitionCount: settings.partitionCount)
    }

    package var held: HeldState {
        HeldState(
            partitions: partitions.reduce(0) { count, _ in count + 1 },
            stores: partitions.reduce(0) { $0 + $1.applied.stores.count },
            commands: partitions.reduce(0) { $0 + $1.applied.duplicates.count })
    }

    /// How many offsets are still to be read until all partitions are restored, as far as is known.
    package var remaining: Offset {
        if case .takingOver(let takeover) = phase { takeover.remaining } else { restoring?.remaining ?? 0 }
    }

    /// Whether the state of some partitions is being restored.
    package var isRestoring: Bool {
        if case .takingOver = phase { true } else { restoring != nil }
    }

    /// Makes the worker finish the transaction at hand, leave its group and stop.
    package mutating func requestStop() { isStopping = true }

    package mutating func step() -> Step {
        do throws(LogError) {
            var step = Step.worked
            switch phase {
            // A successor may have another menu, with which answers alone do not show what a store holds.
            case .polling where isStopping && !hasWrittenLast && partitions.contains { !$0.applied.stores.unwritten.isEmpty }:
                (hasWrittenLast, phase) = (true, .beginning(Batch()))
            case _ where isStopping && phase.allowsLeaving: step = leave()
            case .starting:
                // Early, since a new client takes long to connect. The ids claim nothing before the first assignment.
                unclaimedIDs = try log.initTransactions()
                onEvent(.started)
                phase = .polling
            case .polling where isRestoreNext: try restoreOthers()
            case .polling: step = try poll()
            // A takeover can take long, so rebalances and requests to stop are handled between its parts.
            case .takingOver(let takeover): if try !handleRebalance() { try proceed(with: takeover) }
            case .checking(let check) where check.isDone: finish(check)
            case .checking(let check): try check.step(on: log, partitions: partitions, context: context)
            case .beginning(let batch):
                try log.begin()
                begunAt = log.uptime
                failures.began(batch)
                phase = .processing(batch)
            case .processing(let batch): try process(batch)
            case .flushing(let deferred):
                try log.flush()
                try deferred.write(to: log)
                phase = .committing
            case .committing:
                // Until the flush, the log stamps records by this clock. If it jumped, a restore would read wrong times.
                try log.flush()
                let jump = log.now - log.uptime - clockOffset
                guard jump.magnitude <= max(100, settings.window.age / 1000) else {
                    throw LogError(.startOver, "the clock jumped by \(jump) ms within a transaction")
                }
                // If the worker stalled, its claim may have been deleted meanwhile, so that a successor had no id to fence.
                guard !timers.isCheckOverdue(at: log.uptime, settings) else {
                    throw LogError(.startOver, "the worker stood still, and others may have its partitions")
                }
                try finishTransaction(journalled: try log.commit())
            case .readingBack(let readBack) where readBack.isDone: try finish(readBack)
            case .readingBack(let readBack): try readBack.step(on: log, partitions: partitions, reader: context.journalReader)
            case .startingOver: step = try startOver()
            case .standingAside(let until) where log.uptime < until: step = .backOff(attempt: Self.longestRetryBackoff)
            case .standingAside:
                try log.rejoin()
                phase = .startingOver
            case .ended(let end): step = end
            }
            failedCalls = 0
            return step
        } catch { return recover(from: error) }
    }

    private var settings: WorkerSettings { context.settings }

    /// The state of the partition that an input partition belongs to.
    private func state(of partition: Int32) -> PartitionState? { partitions[partition % settings.partitionCount] }

    private mutating func leave() -> Step {
        publish()
        log.leave(handsOver: true)
        onEvent(.left)
        phase = .ended(.stopped)
        return .stopped
    }

    // MARK: - Failures

    private mutating func recover(from error: LogError) -> Step {
        switch error.remedy {
        case .retry:
            failedCalls += 1
            onEvent(.retrying(error, attempt: failedCalls))
            // This check is left to the next one: commands should not wait for it.
            if case .checking = phase {
                timers.postponeCheck(at: log.uptime)
                phase = .polling
            }
            // Such a call has usually waited already, and continues in the background.
            return .backOff(attempt: min(failedCalls, Self.longestRetryBackoff))
        case .startOver:
            if error.subject.isClock, !retriesWithTimeOfClock(error.subject) { return standAside(error) }
            onEvent(.startingOver(error))
            if let failure = countFailure(error) { onEvent(.partitionFailing(failure.partition, failure.fault)) }
            cachePartitions()
            (unclaimedIDs, waiting) = ([], Batch())
            if case .starting = phase {} else { phase = .startingOver }
            // A refused record needs no pause: halving the batch isolates it.
            return switch error.subject {
            case .record, .time: .worked
            default: .backOff(attempt: max(1, failures.count))
            }
        case .stop:
            onEvent(.failed(error))
            // The process may restart in a moment, and its problem should not move on to the next instance at once.
            log.leave(handsOver: false)
            phase = .ended(.failed(error))
            return .failed(error)
        }
    }

    /// Counts a failure. Returns the partition that is paused for it, if any.
    private mutating func countFailure(_ error: LogError) -> PartitionFailure? {
        switch phase {
        case _ where error.subject == .connection: break
        case _ where error.subject.isClock: return nil
        case .processing, .flushing, .committing: return failures.failed(error, at: log.uptime)
        case .takingOver(let takeover) where !takeover.claiming.isEmpty:
            return failures.claimsFailed(takeover.claiming, error, at: log.uptime)
        default: break
        }
        failures.failedElsewhere()
        return nil
    }

    /// Whether the refused time may be the journal's. If so, the next transaction has this clock's; if not, this clock is wrong.
    private func retriesWithTimeOfClock(_ subject: LogError.Subject) -> Bool {
        guard case .time(.results, let partition) = subject, let state = partitions[partition] else { return false }
        return !exchange(&state.applied.isTimeRefused, with: true)
    }

    /// Leaves the partitions to instances whose clock is right, and tries again later.
    private mutating func standAside(_ error: LogError) -> Step {
        revoke()
        log.leave(handsOver: true)
        onEvent(.clockRefused(error))
        (unclaimedIDs, waiting) = ([], Batch())
        phase = .standingAside(until: log.uptime + Self.timeAside)
        return .worked
    }

    /// A failed producer is never used again: after an abort, a late request of the aborted transaction could end the next one of
    /// the same epoch. The next takeover uses new producers.
    private mutating func startOver() throws(LogError) -> Step {
        // Also when stopping: an open transaction would keep its partitions from being restored elsewhere.
        if isStopping, failedCalls >= Self.stopAttempts { return leave() }
        try log.start(at: [])
        // A cluster may need seconds to elect a coordinator. A member that does not poll meanwhile loses its membership.
        if try handleRebalance() { return .worked }
        unclaimedIDs = try log.initTransactions()
        if isStopping { return leave() }
        phase = .polling
        if let assignment { takeOver(assignment) }
        return .worked
    }

    /// Stops reading a partition. It stays in the assignment, so that no other worker reads on past the fault.
    private mutating func stop(_ partition: Int32, _ fault: PartitionFault, journalEnd: Offset) {
        partitions[partition] = nil
        stopped[partition] = journalEnd
        failures.stopped(partition)
        onEvent(.partitionStopped(partition, fault))
    }

    /// Stops the partition whose input cannot be read past this place.
    private mutating func stop(at position: InputPosition, _ reason: String) throws(LogError) {
        if let state = state(of: position.partition) {
            let last = max(position.offset, state.applied.progress.positions[position.input] ?? 0)
            let fault = PartitionFault(
                .input(position.input), at: last, "\(position.input.text) is damaged: \(reason)",
                anchors: [InputPosition(position.input, last + 1)])
            stop(state.partition, fault, journalEnd: state.seenResults)
        }
        try readAgain()
    }

    /// Reads the commands of all partitions again from their positions.
    private func readAgain() throws(LogError) {
        restoring?.interrupt()
        try log.start(at: partitions.flatMap(\.positions))
    }

    // MARK: - Transactions

    private mutating func process(_ batch: Batch) throws(LogError) {
        let now = log.now
        clockOffset = now - log.uptime
        var transaction = Transaction(on: log, context: context, at: now, cut: failures.cut, answersReadBack: answersReadBack)
        answersReadBack = 0
        try writeWhatIsDue(for: batch, at: now, &transaction)
        var isWaiting: Set<Int32> = []
        var remaining: [ArraySlice<CommandRecord>] = []
        for records in batch.runs {
            guard let partition = records.first?.partition, let state = state(of: partition) else { continue }
            var rest = records
            if !isWaiting.contains(state.partition) {
                rest = rest.dropFirst(try transaction.process(records.span, of: &state.applied))
            }
            guard !rest.isEmpty else { continue }
            isWaiting.insert(state.partition)
            remaining.append(rest)
        }
        waiting = Batch(runs: remaining)
        summary = transaction.summary
        phase = transaction.deferred.map(Phase.flushing) ?? .committing
    }

    /// Writes the stock and the position notes that are due, before the batch's answers.
    private mutating func writeWhatIsDue(for batch: Batch, at now: Timestamp, _ transaction: inout Transaction) throws(LogError) {
        let storePartitions = Set(batch.partitions.map { $0 % settings.partitionCount })
        for state in partitions {
            var note: JournalNote?
            if storePartitions.isEmpty || storePartitions.contains(state.partition) {
                let firstUnread = batch.firstTime(in: state.partition, of: settings, readAt: now)
                note = state.dueNote(at: now, log.uptime, settings, firstUnread: firstUnread)
            }
            if note != nil || batch.count == 0 || state.isStockDue(at: log.uptime) {
                try transaction.writeStock(of: state)
                state.wroteStock(at: log.uptime)
            }
            guard let note else { continue }
            try transaction.writeNote(note, to: state.partition, notBefore: state.applied.earliestTime)
            state.noted(at: log.uptime)
        }
    }

    /// - Parameter offsets: those of its records in each partition's journal.
    private mutating func finishTransaction(journalled offsets: [Int32: [Range<Offset>]]) throws(LogError) {
        let now = log.uptime
        for state in partitions { try state.commit(offsets[state.partition] ?? []) }
        timers.committed(at: now, commands: summary.commands)
        onEvent(.committed(summary))
        // A transaction without commands proves nothing: failed commands may fail again.
        let working =
            summary.commands > 0 ? failures.committed(after: now - begunAt) : failures.wroteOwed(of: partitions.map(\.partition))
        for partition in working { onEvent(.partitionRecovered(partition)) }
        guard waiting.count > 0 else { return phase = .polling }
        restoring?.interrupt()
        phase = .readingBack(readBack())
    }

    // MARK: - Reading answers back

    /// Begins to read the answers that the rest of the batch waits for.
    private func readBack() -> AnswerReadBack {
        var wanted: [Int32: Set<Offset>] = [:]
        // Before the missing answers are looked up: one command may need two answers at once.
        for partition in waiting.partitions { state(of: partition)?.applied.duplicates.beginReadBack() }
        for records in waiting.runs {
            guard let partition = records.first?.partition, let state = state(of: partition) else { continue }
            let most = AnswerReadBack.most - (wanted[state.partition]?.count ?? 0)
            let missing = state.applied.missingAnswers(
                for: records, at: log.now, settings.times, by: context.commandReaders.0, most: most)
            if !missing.isEmpty { wanted[state.partition, default: []].formUnion(missing) }
        }
        return AnswerReadBack(wanted)
    }

    private mutating func finish(_ readBack: AnswerReadBack) throws(LogError) {
        answersReadBack += readBack.count
        phase = .beginning(exchange(&waiting, with: Batch()))
        guard !readBack.damages.isEmpty else { return }
        for (partition, damage) in readBack.damages {
            let fault = PartitionFault(
                .journal, at: damage.offset, "results [\(partition)]: \(damage.reason)",
                anchors: partitions[partition]?.positions ?? [])
            stop(partition, fault, journalEnd: partitions[partition]?.seenResults ?? 0)
        }
        try readAgain()
        phase = .polling
    }

    // MARK: - Polling

    private mutating func poll() throws(LogError) -> Step {
        let now = log.uptime
        (isRestoreNext, turnEnd) = (restoring != nil, nil)
        if let assignment {
            // A takeover would begin to restore again.
            if !isRestoreNext, isAnyPauseOver(assignment, at: now) {
                // A takeover shows whether the paused partitions work again.
                takeOverAgain()
                return .worked
            }
            if timers.isCheckDue(at: now) {
                restoring?.interrupt()
                phase = .checking(LogCheck(partitions.map(\.partition), stopped: stopped, waiting: failures.undecided))
                return .worked
            }
        }
        if timers.isPublishDue(at: now) { publish() }
        guard now >= nextPoll else { return isRestoreNext ? .worked : .waiting(nextPoll - now) }
        let limit = failures.batchLimit
        switch try log.poll(maxRecords: limit, wait: isRestoreNext || hasWork(at: now) ? .never : .briefly) {
        case .records(let records, let ends):
            for end in ends where readEnds.updateValue(end.offset, forKey: end.input) != end.offset { timers.hasUnpublished = true }
            if let stray = firstStray(in: records) {
                try stop(at: stray, "a record claims to be at offset \(stray.offset) again")
            } else if !records.isEmpty {
                // Behind a full batch there are more: waiting would not make the next one larger.
                if records.count < limit { nextPoll = log.uptime + settings.commitInterval }
                phase = .beginning(Batch(records))
            } else if hasWork(at: log.uptime) {
                // There is time to write the stock that changed, and notes before the last ones expire.
                phase = .beginning(Batch())
            } else if !isRestoreNext {
                return .idle
            }
        case .damaged(let position, let reason): try stop(at: position, reason)
        case .assigned(let assignment): assign(assignment)
        case .revoked: revoke()
        }
        return .worked
    }

    /// The first record whose offset does not exceed those before it. No checksum covers the offset of a record batch.
    private func firstStray(in records: [CommandRecord]) -> InputPosition? {
        var next: [InputPartition: Offset] = [:]
        var index = 0
        while index < records.count {
            let first = records[index]
            var expected = next[first.input] ?? state(of: first.partition)?.applied.progress.positions[first.input] ?? 0
            while index < records.count, records[index].topic == first.topic, records[index].partition == first.partition {
                if records[index].offset < expected { return InputPosition(first.input, records[index].offset) }
                expected = records[index].offset + 1
                index += 1
            }
            next[first.input] = expected
        }
        return nil
    }

    /// Publishes positions, past the markers at an input's end: otherwise a partition that is read to its end would seem to lag.
    private func publish() {
        let offsets = partitions.reduce(into: [:]) { $0.merge($1.groupOffsets(passing: readEnds)) { $1 } }
        if !offsets.isEmpty { log.publish(offsets) }
    }

    private func hasWork(at now: Timestamp) -> Bool {
        timers.isQuiet(at: now)
            && partitions.contains { $0.isNoteOld(at: now, settings.noteInterval) || !$0.applied.stores.unwritten.isEmpty }
    }

    private func isAnyPauseOver(_ assignment: InputAssignment, at now: Timestamp) -> Bool {
        assignment.partitions.contains { partitions[$0] == nil && failures.isFailing($0) && !failures.isPaused($0, at: now) }
    }

    // MARK: - Assignment

    /// Handles a rebalance in the middle of something that can take long. Returns whether there was one.
    private mutating func handleRebalance() throws(LogError) -> Bool {
        switch try log.poll(maxRecords: 1, wait: .never) {
        case .assigned(let assignment): assign(assignment)
        case .revoked: revoke()
        // Left over from before `start(at:)`, which will read them again.
        case .records, .damaged: return false
        }
        return true
    }

    private mutating func assign(_ assignment: InputAssignment) {
        onEvent(.assigned(assignment.partitions))
        self.assignment = assignment
        // Starting over takes the partitions over itself, once it has producers.
        if case .startingOver = phase { return }
        takeOver(assignment)
    }

    private mutating func revoke() {
        onEvent(.revoked)
        cachePartitions()
        assignment = nil
        (claims, stopped, mismatches) = ([:], [:], [])
        failures.forgetPartitions()
        if case .startingOver = phase { return }
        phase = .polling
    }

    /// Stops reading all partitions, and caches their states as of the last known commit. The next takeover finds out whether
    /// another worker has committed more.
    private mutating func cachePartitions() {
        if case .takingOver(let takeover) = phase {
            cached = takeover.cached
            // Of two groups that fence each other, the one whose claim came last goes on.
            claims.merge(takeover.claims) { $1 }
        }
        for state in partitions {
            state.undo()
            cached[state.partition] = state
        }
        (partitions, restoring, isRestoreNext) = (PartitionTable(), nil, false)
    }

    private mutating func takeOverAgain() {
        cachePartitions()
        if let assignment { takeOver(assignment) }
    }

    // MARK: - Taking over

    private mutating func takeOver(_ assignment: InputAssignment) {
        let now = log.uptime
        phase = .takingOver(
            Takeover(
                assignment: assignment, ids: unclaimedIDs, cached: cached,
                leavingOut: assignment.partitions.filter { failures.isUnclaimable($0, at: now) }, claimLimit: failures.claimLimit,
                mismatches: mismatches, context: context))
        (cached, stopped) = (PartitionTable(), [:])
        // Without partitions nothing is claimed.
        if !assignment.partitions.isEmpty { unclaimedIDs = [] }
        (mismatches, readEnds) = ([], [:])
    }

    /// Restores further partitions, one call on the log at a time, between the transactions of the others.
    private mutating func restoreOthers() throws(LogError) {
        let end = turnEnd ?? log.uptime + Self.restoreTurn
        (isRestoreNext, turnEnd) = (false, end)
        if let restoring { try proceed(with: restoring) }
        isRestoreNext = restoring != nil && log.uptime < end
    }

    private mutating func proceed(with takeover: Takeover) throws(LogError) {
        if takeover.isDone { return try finish(takeover) }
        for failure in try takeover.step(on: log) {
            let isOpen = if case .transaction = failure.fault.kind { true } else { false }
            let wasWorking = failures.pause(failure.partition, isOpen ? .undecided : .leaderless, at: log.uptime)
            if wasWorking { onEvent(.partitionFailing(failure.partition, failure.fault)) }
        }
        // Two groups on the same topics would take the partitions from each other for ever.
        if let otherOwner = takeover.otherOwner(of: claims) {
            let ago = otherOwner.timestamp.map { " \(max(0, log.now - $0) / 1000) s ago" } ?? ""
            throw LogError(
                .stop,
                "the group \"\(otherOwner.group)\" (instance \"\(otherOwner.instance)\") took over partitions of the group"
                    + " \"\(settings.group)\"\(ago): only one group may serve these topics")
        }
    }

    private mutating func finish(_ takeover: Takeover) throws(LogError) {
        let now = log.uptime
        var states = takeover.states
        states.removeAll { state in
            guard let (fault, processes) = takeover.deadlyFault(of: state.partition) else { return false }
            failures.pause(state.partition, .deadly(processes: processes, turn: settings.turn(of: state.partition)), at: now)
            onEvent(.partitionFailing(state.partition, fault))
            return true
        }
        let read = states.filter { !failures.isPaused($0.partition, at: now) }
        try log.start(at: (Array(partitions) + read).flatMap(\.positions))
        for state in states where failures.tookOver(state.partition) { onEvent(.partitionRecovered(state.partition)) }
        for state in states { cached[state.partition] = state }
        for state in read { (partitions[state.partition], cached[state.partition]) = (state, nil) }
        claims.merge(takeover.claims) { $1 }
        if !takeover.forgotten.isEmpty { log.publish(takeover.forgotten) }
        for refusal in takeover.refusals { stop(refusal.partition, refusal.fault, journalEnd: refusal.journalEnd) }
        for partition in takeover.rewritten { onEvent(.stockRewritten(partition)) }
        if restoring == nil {
            timers.tookOver(at: now)
            failures.claimed(at: now)
        } else {
            // Only its own logs were looked at.
            timers.hasUnpublished = true
        }
        restoring = takeover.rest
        let numbers = partitions.map(\.partition)
        onEvent(
            restoring.map { .resumed(numbers, restoring: $0.partitions) }
                ?? .restored(partitions: numbers, held, records: takeover.recordCount))
        phase = .polling
    }

    /// Applies the findings of a completed check of the logs.
    private mutating func finish(_ check: LogCheck) {
        timers.checked(at: log.uptime)
        phase = .polling
        for state in partitions {
            for event in check.confirm(state, at: log.now, log.uptime, retention: settings.window.retention) { onEvent(event) }
        }
        for partition in check.freed { failures.decided(partition, at: log.uptime) }
        guard assignment != nil, !check.mismatches.isEmpty || check.mustTakeOver else { return }
        // Another worker has claimed a partition, or a log has changed. A takeover shows what happened.
        mismatches = check.mismatches
        takeOverAgain()
    }
}
