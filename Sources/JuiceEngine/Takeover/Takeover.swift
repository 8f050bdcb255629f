import JuiceDomain
import JuiceMessages

/// Takes over the partitions of one assignment, in the steps of "Who may write" in docs/JOURNAL.md. That page says why they are
/// enough, and which failure each of them prevents.
///
/// A class, because the restored state is large: changing a copied value would copy all of it with each batch that is read.
final class Takeover {
    private enum Stage: Equatable {
        case extents, tail, claims, groupOffsets
        case membership, producers, fencing(Set<String>), deciding(since: Timestamp)
        case beginningClaim, writingClaim, committingClaim
        case extentsAgain, between
        case answerReaches, stock, journal, confirming
        case evidence, done
    }

    /// Why partitions are taken over.
    enum Purpose: Equatable {
        /// For a worker, to read their commands. It refuses a partition that has a fault.
        case work
        /// For an operator, to write an anchor. It accepts whatever faults the restore finds.
        case anchor(isCopy: Bool)

        var isAnchor: Bool { self != .work }
    }

    private let assignment: InputAssignment
    private let context: WorkerContext
    private let purpose: Purpose
    /// Whether to report what a takeover would find, without a claim.
    private let isInspection: Bool
    /// For an anchor: the account that it begins, the fault that it accepts, and what to look for in a copy.
    private(set) var accepted: (account: JournalAccount, fault: PartitionFault?, copies: CopiedInputs?)?
    /// The restored states, and former ones, which are reused if no other worker has written to their partitions since.
    private(set) var cached: PartitionTable
    private var stage = Stage.extents
    /// The changelog parts that this stage reads.
    private var reading = ChangelogReading()
    /// The partitions that are taken over, in order.
    private var targets: [TakeoverTarget]
    /// The ids of the producers; empty until they are made.
    private var ids: [String]
    private var groupOffsets: [InputPartition: GroupOffset] = [:]
    private(set) var recordCount = 0
    /// Partitions that must not be read any further, and where their journals end.
    private(set) var refusals: [(partition: Int32, fault: PartitionFault, journalEnd: Offset)] = []
    /// The positions of inputs whose journal was lost. They are published, since after a restart only the group has them.
    private(set) var forgotten: [InputPartition: GroupOffset] = [:]
    /// Partitions whose stock must be written again, because its topic has lost records.
    private(set) var rewritten: [Int32] = []
    private var claimAttempts = 0
    /// The most partitions that are claimed in one transaction.
    private let claimLimit: Int
    private var unclaimed: [Int32] = []
    /// The offsets of the last claims.
    private(set) var claims: [Int32: Offset] = [:]
    /// The takeover of claimed partitions whose state is unknown, once those whose state was kept need not wait for it.
    private(set) var rest: Takeover?

    /// After this many claims in a row that others interfered with, the group should decide which worker is the owner.
    private static let mostClaims = 5
    /// How long transactions of fenced owners may stay open, in milliseconds.
    private static let longestDecision: Timestamp = 2_000

    /// - Parameters:
    ///   - ids: the ids of producers that have claimed nothing yet; empty if they are still to be made.
    ///   - cached: former states.
    ///   - leftOut: partitions that are not to be taken over now.
    ///   - mismatches: places where an input's log was found not to be the one that was read.
    ///   - isInspection: whether to claim nothing, and to restore from the journal up to its present end.
    ///   - purpose: why they are taken over.
    init(
        assignment: InputAssignment, ids: [String], cached: PartitionTable = PartitionTable(), leavingOut leftOut: [Int32] = [],
        claimLimit: Int = .max, mismatches: [InputMismatch] = [], isInspection: Bool = false, purpose: Purpose = .work,
        context: WorkerContext
    ) {
        (self.assignment, self.ids, self.cached, self.claimLimit, self.context) = (assignment, ids, cached, claimLimit, context)
        (self.isInspection, self.purpose) = (isInspection, purpose)
        targets = assignment.partitions.filter { !leftOut.contains($0) }.map { partition in
            TakeoverTarget(partition, mismatches: mismatches.filter { $0.input.partition % assignment.partitionCount == partition })
        }
        // Reads the group's offsets first: read last, a running owner's could be ahead of the journals as they were read.
        if isInspection { stage = .groupOffsets }
        if targets.isEmpty { stage = .done }
    }

    /// The takeover of partitions that another one has claimed. It restores their state.
    private init(restoring targets: [TakeoverTarget], of former: Takeover) {
        (assignment, context, purpose, isInspection) = (former.assignment, former.context, former.purpose, false)
        (ids, groupOffsets, claims, claimLimit) = (former.ids, former.groupOffsets, former.claims, former.claimLimit)
        (self.targets, cached) = (targets, PartitionTable())
        readStock(of: targets)
    }

    var isDone: Bool { stage == .done }

    /// How many offsets this stage has still to read.
    var remaining: Offset { reading.remaining }

    /// Another reading is about to use the log.
    func interrupt() { reading.interrupt() }

    /// Whether owners and positions are known, and everything else that precedes a claim.
    var knowsPositions: Bool { ![.groupOffsets, .extents, .tail, .claims].contains(stage) }

    /// A description of what is being read; nil if nothing is.
    var unread: String? {
        reading.unread.first.map { "\($0.topic) [\($0.partition)] is not read up to offset \($0.offsets.upperBound)" }
    }

    /// The states that were restored or kept.
    var states: [PartitionState] { partitions.compactMap { cached[$0] } }

    var partitions: [Int32] { targets.map(\.partition) }

    /// The target of a partition; nil if it is not taken over.
    func target(_ partition: Int32) -> TakeoverTarget? { targets.first { $0.partition == partition } }

    private func inputs(of target: TakeoverTarget) -> [InputPartition] { assignment.inputs(of: target.partition) }

    // MARK: - The stages that write

    /// Makes the next call on the log.
    ///
    /// - Returns: partitions that cannot be taken over now. The takeover goes on without them.
    func step(on log: some KafkaPort) throws(LogError) -> [PartitionFailure] {
        defer { if targets.isEmpty { stage = .done } }
        switch stage {
        case .membership:
            // If no position is known, any commit would claim that something was read.
            let offsets = knownOffsets
            if !offsets.isEmpty { try log.confirmMembership(offsets) }
            fence(suspects, at: log.uptime)
        case .producers:
            ids = try log.initTransactions()
            // This fenced the former owner of these ids.
            fence(suspects.subtracting(ids), at: log.uptime)
        case .fencing(let suspects):
            let undecided = try log.fence(suspects)
            stage = .deciding(since: log.uptime)
            // The owner of an undecided id may still write.
            return leaveOut { target in
                guard let id = undecided.intersection(target.tail.owners.suspects).min() else { return nil }
                return PartitionFault(
                    .owner(id: id), "the transaction of its former owner, under the id \(id), cannot be ended now")
            }
        case .deciding(let since):
            // Brokers end the transactions of fenced owners within a moment. A partition with another program's open transaction
            // cannot be read to its end, so it is not claimed.
            let open = try log.openTransactions(in: targets.compactMap(\.extents))
            guard open.isEmpty || log.uptime - since > Self.longestDecision else { break }
            (unclaimed, stage) = (partitions.filter { partition in !open.contains { $0.partition == partition } }, .beginningClaim)
            return leaveOut { target in
                guard let transaction = open.first(where: { $0.partition == target.partition }) else { return nil }
                return PartitionFault(
                    .transaction(transaction.topic), at: transaction.offset,
                    "another program's transaction is open in \(transaction.topic) [\(transaction.partition)] since offset"
                        + " \(transaction.offset)")
            }
        case .beginningClaim:
            try log.begin()
            stage = .writingClaim
        case .writingClaim:
            for target in targets where claiming.contains(target.partition) {
                let claim = JournalClaim(
                    ids: ids, since: target.since, fenced: target.tail.owners.suspects.subtracting(ids).sorted(),
                    group: context.settings.group, instance: context.settings.instance, partitions: assignment.partitionCount,
                    next: target.tail.positions.ofStorePartition, attempt: attempt(of: target), process: context.settings.process)
                try log.produce(.claim(claim), to: target.partition)
            }
            stage = .committingClaim
        case .committingClaim:
            try log.commit()
            unclaimed.removeFirst(claiming.count)
            stage = unclaimed.isEmpty ? .extentsAgain : .beginningClaim
        default: return try look(at: log)
        }
        return []
    }

    /// The ids that may still write, including this worker's former ones: the journal may have lost their claim.
    private var suspects: Set<String> {
        targets.reduce(into: []) { $0.formUnion($1.tail.owners.suspects.union(cached[$1.partition]?.ids ?? [])) }
    }

    private func fence(_ suspects: Set<String>, at uptime: Timestamp) {
        if ids.isEmpty || !suspects.isDisjoint(with: ids) {
            // Another process of the same name may have claimed since these ids were initialized, and may have some of them now.
            (ids, stage) = ([], .producers)
        } else {
            stage = suspects.isEmpty ? .deciding(since: uptime) : .fencing(suspects)
        }
    }

    /// The partitions that are being claimed: all together, unless such a claim has failed.
    var claiming: [Int32] {
        switch stage {
        case .beginningClaim, .writingClaim, .committingClaim: Array(unclaimed.prefix(claimLimit))
        default: []
        }
    }

    private var knownPositions: [InputPosition] {
        targets.flatMap { target in
            inputs(of: target).compactMap { input in
                (target.tail.positions[input] ?? groupOffsets[input]?.offset).map { InputPosition(input, $0) }
            }
        }.sorted { $0.input < $1.input }
    }

    /// The offsets known before the claim. The last owner's commit is kept until the journal was compared with it.
    private var knownOffsets: [InputPartition: GroupOffset] {
        knownPositions.reduce(into: [:]) { offsets, position in
            let committed = groupOffsets[position.input]
            let isEvidence = committed?.mark != nil && committed?.offset ?? 0 > position.offset
            offsets[position.input] = isEvidence ? committed : GroupOffset(offset: position.offset, mark: committed?.mark)
        }
    }

    // MARK: - Owners that end

    /// A partition's first unread position. Trailing markers do not count: the group's offsets pass them.
    private func firstUnread(of target: TakeoverTarget) -> InputPosition? {
        inputs(of: target).lazy.compactMap { input in
            guard let log = target.extents?.inputs[input] else { return nil }
            let position = max(target.tail.positions[input] ?? log.lowerBound, self.groupOffsets[input]?.offset ?? 0)
            return position < log.upperBound ? InputPosition(input, position) : nil
        }.first
    }

    /// How many processes in a row, with this one, have tried to handle the unread commands; 0 if there are none.
    private func attempt(of target: TakeoverTarget) -> Int {
        guard purpose == .work, firstUnread(of: target) != nil else { return 0 }
        guard let former = target.tail.attempt else { return 1 }
        return former.attempt + (former.process == context.settings.process ? 0 : 1)
    }

    /// The fault of a partition that too many processes in a row took over without handling anything, and their number. Whatever
    /// ended them, such as a batch of records that librdkafka cannot parse, must not end this process before it has served its
    /// other partitions. So the inputs are not read, and the state only serves to find faults.
    func deadlyFault(of partition: Int32) -> (fault: PartitionFault, processes: Int)? {
        guard let target = target(partition), let last = target.tail.attempt, last.attempt >= FailurePolicy.mostDeaths,
            last.process != context.settings.process, let next = firstUnread(of: target)
        else { return nil }
        let reason =
            "\(next.input.text): the last \(last.attempt) processes that took the partition over ended before they handled"
            + " anything from offset \(next.offset) on"
        return (PartitionFault(.deadly(next.input), at: next.offset, reason), last.attempt)
    }

    /// Goes on without the partitions that have a fault now.
    private func leaveOut(_ fault: (TakeoverTarget) -> PartitionFault?) -> [PartitionFailure] {
        let failures = targets.compactMap { target in fault(target).map { (target.partition, $0) } }
        targets.removeAll { target in failures.contains { $0.0 == target.partition } }
        return failures
    }

    private func refuse(_ target: TakeoverTarget, _ fault: PartitionFault) {
        targets.removeAll { $0 === target }
        cached[target.partition] = nil
        refusals.append((target.partition, fault, target.results.upperBound))
    }

    // MARK: - The stages that read

    /// Makes the next call on the log if that only reads, as all calls of an inspection do. Returns as ``step(on:)`` does.
    func look(at log: some KafkaReadPort) throws(LogError) -> [PartitionFailure] {
        defer { if targets.isEmpty { stage = .done } }
        switch stage {
        case .extents, .extentsAgain:
            let (extents, leaderless) = try log.extents(of: partitions)
            for found in extents {
                target(found.partition)?.extents = found
                cached[found.partition]?.compare(found)
            }
            let failures = leaveOut { target in
                guard !extents.contains(where: { $0.partition == target.partition }) else { return nil }
                let topic = leaderless[target.partition] ?? "a topic"
                return PartitionFault(.leader(topic: topic), "\(topic) [\(target.partition)] has no leader, or is gone")
            }
            if stage == .extents { read(.tail, targets.compactMap { $0.nextTail() }) }
            if stage == .extentsAgain { read(.between, targets.map { $0.betweenToRead() }) }
            return failures
        case .tail, .claims, .between, .stock, .journal:
            let stage = stage
            let damages = try reading.step(on: log) { self.apply($0, of: log, in: stage) }
            for (place, reason) in damages {
                guard let target = target(place.partition) else { continue }
                let kind: PartitionFault.Kind = place.topic == .stock ? .stock : .journal
                refuse(target, PartitionFault(kind, at: place.offset, "\(place.topic) [\(place.partition)]: \(reason)"))
            }
            if reading.isDone { try finishReading(at: log.uptime) }
        case .groupOffsets:
            groupOffsets.merge(try log.groupOffsets(of: targets.flatMap(inputs).sorted())) { $1 }
            stage = isInspection ? .extents : .membership
        case .answerReaches:
            let handledAt = targets.reduce(into: [:]) { $0[$1.partition] = $1.tail.progress.handledAt }
            let reaches = try log.answerReaches(
                at: knownPositions.filter { deadlyFault(of: $0.partition % assignment.partitionCount) == nil },
                handledAt: handledAt, context.settings)
            // An inspection does not read answers that only repeats ask for, unless they may be gone.
            for target in targets where !isInspection || target.isCut { target.reach = reaches[target.partition] }
            restore(targets.filter { state(of: $0) == nil })
        case .confirming:
            // Records deleted during the read would look as if they had never existed.
            let found = try log.extents(of: partitions).extents
            for extents in found where target(extents.partition)?.hasMoved(to: extents) ?? false {
                throw LogError(.startOver, "the beginning of results or stock [\(extents.partition)] moved while they were read")
            }
            for target in targets where !target.fencedAllOwners {
                throw LogError(.startOver, "results [\(target.partition)] was recreated while a claim was on its way")
            }
            finishRestore()
            for extents in found { cached[extents.partition]?.compare(extents) }
        case .evidence:
            let ranges = evidenceRanges
            if !ranges.isEmpty {
                let (records, damaged) = try log.readBack(ranges)
                for target in targets { target.compare(with: records, damaged: damaged, by: context.commandReaders.0) }
            }
            for target in targets {
                if let fault = target.decisiveFault {
                    refuse(target, fault)
                } else {
                    cached[target.partition]?.applied.evidence.thin()
                }
            }
            stage = .done
        case .membership, .producers, .fencing, .deciding, .beginningClaim, .writingClaim, .committingClaim, .done: break
        }
        return []
    }

    private func read(_ stage: Stage, _ parts: [ChangelogReading.Part]) {
        self.stage = stage
        reading = ChangelogReading(parts, isolation: stage == .claims ? .uncommitted : .committed)
    }

    private func apply(_ run: ArraySlice<ChangelogBatch.Record>, of log: some KafkaReadPort, in stage: Stage) {
        guard let target = run.first.flatMap({ target($0.partition) }) else { return }
        if stage == .stock || stage == .journal { recordCount += run.count }
        guard stage != .stock else {
            target.restore?.applyStock(run, by: context.stockRestorer)
            return
        }
        for record in run {
            guard let value = record.value,
                let record = try? context.journalReader.read(
                    value, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
                    sent: log.headers(of: record)?.sent)
            else { continue }
            switch stage {
            case .between: target.addBetween(record, ids: ids)
            case .journal: target.restore?.apply(record, by: context.journalReader)
            default: target.add(record, isCommitted: stage == .tail)
            }
        }
    }

    /// Goes on once all partitions are read as far as this stage needs.
    private func finishReading(at uptime: Timestamp) throws(LogError) {
        switch stage {
        case .tail:
            let further = targets.compactMap { $0.nextTail() }
            if further.isEmpty { read(.claims, targets.map { $0.claimsToRead() }) } else { read(.tail, further) }
        case .claims where isInspection:
            for target in targets { target.skipClaim() }
            beginRestoring()
        case .claims: stage = .groupOffsets
        case .between: try finishBetween(at: uptime)
        case .stock, .journal:
            let parts = targets.compactMap { $0.nextJournal(context.settings.window, for: purpose) }
            if parts.isEmpty { stage = .confirming } else { read(.journal, parts) }
        default: break
        }
    }

    /// Goes on once all partitions are read up to the claims.
    private func finishBetween(at uptime: Timestamp) throws(LogError) {
        for target in targets { claims[target.partition] = target.claim }
        if let target = targets.first(where: { $0.claim == nil }) {
            throw LogError(
                .startOver, "the claim to partition \(target.partition) is not in the journal: another worker has fenced it")
        }
        claimAttempts += 1
        let others = targets.reduce(into: Set<String>()) { $0.formUnion($1.between) }
        if !others.isEmpty {
            guard claimAttempts < Self.mostClaims else { throw LogError(.startOver, "others keep claiming the same partitions") }
            for target in targets { target.claimAgain() }
            return fence(others, at: uptime)
        }
        for target in targets {
            if let state = cached[target.partition] { resume(state, of: target) }
        }
        beginRestoring()
    }

    /// Keeps a former state if the journal has not changed since, and drops it otherwise.
    private func resume(_ state: PartitionState, of target: TakeoverTarget) {
        guard let extents = target.extents, let claim = target.claim else { return }
        // Partitions may have been added to an input.
        if target.isUnchanged(since: state), Set(state.committed.positions.all.map(\.input)) == Set(inputs(of: target)) {
            let isRewritten = state.resume(claim: claim, ids: ids, lastNote: target.tail.note?.offset, extents)
            if isRewritten { rewritten.append(target.partition) }
            return
        }
        cached[target.partition] = nil
        let lost = state.committed.records - target.tail.progress.records
        if state.truncated.contains(.results), lost > 0 {
            target.refused = (state, .lostEnd(of: extents, missing: lost, anchors: state.positions))
            forgotten.merge(state.groupOffsets()) { $1 }
        } else if state.truncated.contains(.stock) {
            // No state in memory can repair that.
            let fault = PartitionFault(
                .stock, at: extents.stock.upperBound,
                "stock [\(state.partition)] holds offsets \(extents.stock.lowerBound) to \(extents.stock.upperBound), and lacks"
                    + " records that were written or read before: the topic was recreated, or lost a part", anchors: state.positions
            )
            target.refused = (state, fault)
        }
    }

    /// Another group's claim to a partition, after this worker's `former` claim to it; nil if there is none.
    func otherOwner(of former: [Int32: Offset]) -> JournalOwners.LastClaim? {
        for (partition, claim) in former {
            guard let last = target(partition)?.tail.owners.lastClaim, last.offset > claim else { continue }
            if last.group != context.settings.group { return last }
        }
        return nil
    }

    // MARK: - Restoring

    private func beginRestoring() {
        let unknown = targets.filter { state(of: $0) == nil }
        // An anchor answers no command, but accepts that the journal may lack answers that a worker would look for.
        if purpose.isAnchor { for target in unknown { target.reach = AnswerReach(offset: 0, firstUnread: nil) } }
        if unknown.isEmpty {
            beginEvidence()
        } else if isInspection && !unknown.contains(where: \.isCut) || purpose.isAnchor {
            readStock(of: unknown)
        } else {
            stage = .answerReaches
        }
    }

    /// Restores partitions whose state is unknown: apart from the others, if a worker is to read those meanwhile.
    private func restore(_ unknown: [TakeoverTarget]) {
        guard !isInspection, unknown.count < targets.count else { return readStock(of: unknown) }
        rest = Takeover(restoring: unknown, of: self)
        targets.removeAll { target in unknown.contains { $0 === target } }
        beginEvidence()
    }

    private func readStock(of targets: [TakeoverTarget], readingAll readsAll: Bool = false) {
        var parts: [ChangelogReading.Part] = []
        for target in targets {
            guard let extents = target.extents else { continue }
            target.restore = PartitionRestore(
                extents, assignment: assignment, readsAll: readsAll, for: purpose,
                groupOffsets: groupOffsets.filter { inputs(of: target).contains($0.key) }, context: context)
            parts.append(ChangelogReading.Part(topic: .stock, partition: target.partition, offsets: extents.stock))
        }
        read(.stock, parts)
    }

    /// Closes the accounts. If one does not close, the partition's stock and journal are read again from their beginnings.
    private func finishRestore() {
        var incomplete: [TakeoverTarget] = []
        for target in targets {
            guard var restore = target.restore, let claim = target.claim else { continue }
            target.restore = nil
            restore.close(target.reach)
            if restore.needsAll {
                incomplete.append(target)
                continue
            }
            let (account, copies) = (restore.acceptedAccount, restore.copies)
            let (state, fault) = restore.finish(claim: claim, ids: ids)
            accepted = (account, fault, copies)
            if let fault, !purpose.isAnchor {
                target.refused = (state, fault)
            } else {
                cached[target.partition] = state
            }
        }
        if !incomplete.isEmpty {
            readStock(of: incomplete, readingAll: true)
        } else if purpose.isAnchor {
            stage = .done
        } else {
            beginEvidence()
        }
    }

    /// The state that was kept or restored, even of a partition that will be refused.
    private func state(of target: TakeoverTarget) -> PartitionState? { cached[target.partition] ?? target.refused?.state }

    private func beginEvidence() {
        for target in targets {
            if let state = state(of: target) { target.examine(state) }
        }
        stage = .evidence
    }

    private var evidenceRanges: [InputPartition: Range<Offset>] {
        targets.reduce(into: [:]) { ranges, target in
            guard target.mismatches.isEmpty, deadlyFault(of: target.partition) == nil else { return }
            if let evidence = target.evidence { ranges.merge(evidence.ranges) { $1 } }
        }
    }
}
