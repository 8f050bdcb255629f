import JuiceDomain
import JuiceMessages

/// Takes over the partitions of one assignment, in the steps of "Who may write" in docs/JOURNAL.md. That says why they are enough,
/// and which failure each of them prevents.
///
/// A class, since what it restores is large: changing a copy would copy all of it with each batch that is read.
final class Takeover {
    private enum Stage: Equatable {
        case extents, tail, claims, groupOffsets, membership, producers
        case fencing(Set<String>)
        case deciding(since: Timestamp)
        case beginningClaim, writingClaim, committingClaim
        case extentsAgain, between
        case answerReaches, stock, journal, head, confirming
        case evidence, done
    }

    /// Who takes the partitions over.
    enum Purpose: Equatable {
        /// A worker, to read on. It refuses a partition that has a fault.
        case work
        /// An operator, to write an anchor, which accepts whatever is wrong with what was restored.
        case anchor(isCopy: Bool)

        var isAnchor: Bool { self != .work }
    }

    private let assignment: InputAssignment
    private let context: WorkerContext
    private let purpose: Purpose
    /// Whether to find out what a takeover would find, and claim nothing.
    private let isInspection: Bool
    /// For an anchor: the account after it, and what an operator accepts with it.
    private(set) var accepted: (account: JournalAccount, fault: PartitionFault?)?
    /// Former states, which are used again if no other worker has written to their partitions since, and those that are restored.
    private(set) var cached: PartitionTable
    private var stage = Stage.extents
    /// The partitions that are taken over, in order.
    private var targets: [TakeoverTarget]
    /// The ids of the producers; empty until they are made.
    private var ids: [String]
    private var groupOffsets: [InputPartition: GroupOffset] = [:]
    /// Whether the changelogs are open as far as this stage reads them.
    private var isOpen = false
    /// The time of the present call, and when anything was read last.
    private var now: Timestamp = 0
    private var readAt: Timestamp?
    private(set) var recordCount = 0
    /// Partitions that must not be read on, and where their journals end.
    private(set) var refusals: [(partition: Int32, fault: PartitionFault, journalEnd: Offset)] = []
    /// The positions of inputs whose journal was lost. They are published, since after a restart only the group has them.
    private(set) var forgotten: [InputPartition: GroupOffset] = [:]
    /// Partitions whose stock is to be written again, since its topic has lost records.
    private(set) var rewritten: [Int32] = []
    private var claimAttempts = 0
    /// The most partitions that are claimed in one transaction.
    private let claimLimit: Int
    private var unclaimed: [Int32] = []
    /// Whether the claims are clean: everybody named before them is fenced.
    private(set) var isOwner = false
    /// Where the claims stand, once they are clean.
    private(set) var claims: [Int32: Offset] = [:]

    /// After this many claims in a row that others interfered with, the group should decide who is the owner.
    private static let mostClaims = 5
    /// How long transactions of former owners may stay open once they are fenced, in milliseconds.
    private static let longestDecision: Timestamp = 2_000
    /// How long reading may find nothing, in milliseconds: a topic that was recreated meanwhile may never grow to the old end.
    static let longestRead: Timestamp = 30_000

    /// - Parameters:
    ///   - ids: the ids of producers that have claimed nothing yet; empty if they are still to be made.
    ///   - cached: former states.
    ///   - leftOut: partitions that are not to be taken over now.
    ///   - mismatches: places at which an input was found to be another log than the one that was read.
    ///   - isInspection: whether to claim nothing, and restore what the journal says up to its present end.
    ///   - purpose: who takes them over.
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
        if targets.isEmpty { stage = .done }
    }

    var isDone: Bool { stage == .done }

    /// Whether all that there is to know before the claim is known.
    var isSurveyed: Bool { ![.extents, .tail, .claims].contains(stage) }

    /// Makes the next call on the log.
    ///
    /// - Returns: partitions that cannot be taken over now. It goes on without them.
    func step(on log: some CommandLog) throws(LogError) -> [PartitionFailure] {
        switch stage {
        case .membership:
            try log.confirmMembership(knownOffsets)
            fence(suspects)
        case .producers:
            ids = try log.initTransactions()
            // That fenced whoever had these ids when it wrote what was read here.
            fence(suspects.subtracting(ids))
        case .fencing(let ids): return fenced(but: try log.fence(ids), now: log.now)
        case .deciding(let since):
            let open = try log.openTransactions(in: targets.compactMap(\.extents))
            return decided(but: open, isLate: log.now - since > Self.longestDecision)
        case .beginningClaim:
            try log.begin()
            stage = .writingClaim
        case .writingClaim:
            for target in targets where claiming.contains(target.partition) {
                try log.produce(.claim(claim(on: target)), to: target.partition)
            }
            stage = .committingClaim
        case .committingClaim:
            try log.commit()
            claimed()
        case .answerReaches:
            let handledAt = targets.reduce(into: [:]) { $0[$1.partition] = $1.tail.handledAt }
            let reaches = try log.answerReaches(
                at: knownPositions, handledAt: handledAt, retention: context.settings.window.retention)
            for target in targets { target.reach = reaches[target.partition] }
            beginStock()
        default: return try look(at: log)
        }
        return []
    }

    /// Makes the next call on the log if that only reads, as all calls of an inspection do. Returns as ``step(on:)`` does.
    func look(at log: some ReadableLog) throws(LogError) -> [PartitionFailure] {
        now = log.now
        switch stage {
        case .extents, .extentsAgain:
            let (extents, leaderless) = try log.extents(of: partitions)
            found(extents)
            return leaderless.sorted { $0.key < $1.key }.map { partition, topic in
                let reason = "\(topic) [\(partition)] has no leader, or is gone"
                return (partition, PartitionFault(.leader(topic: topic), reason))
            }
        case .confirming:
            // What was deleted while it was read would look as if it had never been there.
            let found = try log.extents(of: partitions).extents
            for extents in found where target(extents.partition)?.hasMoved(to: extents) ?? false {
                throw LogError(.startOver, "the beginning of results or stock [\(extents.partition)] moved while they were read")
            }
            for target in targets where !target.fencedAllOwners {
                throw LogError(.startOver, "results [\(target.partition)] was recreated while a claim was on its way")
            }
            finishRestore()
            for extents in found { cached[extents.partition]?.compare(extents) }
        case .tail, .claims, .between, .stock, .journal, .head:
            if isOpen {
                try read(try log.readChangelog())
            } else {
                let isolation = stage == .claims ? Isolation.uncommitted : .committed
                try log.openChangelog(targets.compactMap(\.opening), isolation: isolation)
                (isOpen, readAt) = (true, nil)
            }
        case .groupOffsets:
            groupOffsets.merge(try log.groupOffsets(of: targets.flatMap(inputs).sorted())) { $1 }
            beginMembership()
        case .evidence:
            let (records, damaged) = try log.readBack(evidenceRanges)
            for target in targets where target.mismatches.isEmpty {
                target.mismatches =
                    target.evidence?.mismatches(with: records, damaged: damaged, by: context.commandReaders.0) ?? []
            }
            compared()
        case .membership, .producers, .fencing, .deciding, .beginningClaim, .writingClaim, .committingClaim, .answerReaches, .done:
            break
        }
        return []
    }

    private var partitions: [Int32] { targets.map(\.partition) }

    /// A partition that is taken over; nil for another one.
    func target(_ partition: Int32) -> TakeoverTarget? { targets.first { $0.partition == partition } }

    private func inputs(of target: TakeoverTarget) -> [InputPartition] { assignment.inputs(of: target.partition) }

    private var knownPositions: [InputPosition] {
        targets.flatMap { target in
            inputs(of: target).compactMap { input in
                (target.tail.positions[input] ?? groupOffsets[input]?.offset).map { InputPosition(input, $0) }
            }
        }.sorted { $0.input < $1.input }
    }

    /// What is known before the claim. What the last owner has committed stays until the journal was compared with it.
    private var knownOffsets: [InputPartition: GroupOffset] {
        knownPositions.reduce(into: [:]) { offsets, position in
            let committed = groupOffsets[position.input]
            let isEvidence = committed?.mark != nil && committed?.offset ?? 0 > position.offset
            offsets[position.input] = isEvidence ? committed : GroupOffset(offset: position.offset, mark: committed?.mark)
        }
    }

    private func refuse(_ target: TakeoverTarget, _ fault: PartitionFault) {
        targets.removeAll { $0 === target }
        cached[target.partition] = nil
        refusals.append((target.partition, fault, target.results.upperBound))
    }

    /// Goes on without these partitions, which cannot be taken over now.
    private func leaveOut(_ isLeftOut: (TakeoverTarget) -> Bool) {
        targets.removeAll(where: isLeftOut)
        if targets.isEmpty { stage = .done }
    }

    // MARK: - Before the claim

    private func found(_ extents: [PartitionExtents]) {
        for extent in extents {
            target(extent.partition)?.extents = extent
            cached[extent.partition]?.compare(extent)
        }
        leaveOut { $0.extents == nil }
        guard !isDone else { return }
        if stage == .extentsAgain {
            for target in targets { target.readBetween() }
            enter(.between)
        } else {
            for target in targets { target.readTail() }
            enter(.tail)
        }
    }

    private func enter(_ stage: Stage) {
        self.stage = stage
        isOpen = false
        guard targets.allSatisfy({ $0.reading == nil }) else { return }
        // There is nothing to read, so nothing is found that could throw.
        try? finishReading()
    }

    /// The next records of the changelogs.
    ///
    /// - Throws: ``LogError`` if another worker has claimed a partition since, or a topic was recreated.
    private func read(_ batch: ChangelogBatch) throws(LogError) {
        if !batch.records.isEmpty || readAt == nil { readAt = now }
        if let readAt, now - readAt > Self.longestRead {
            throw LogError(.startOver, "results or stock do not reach as far as they did a moment ago")
        }
        var rest = batch.records[...]
        // Records come in runs of one topic partition.
        while let first = rest.first {
            let run = rest.prefix { $0.partition == first.partition && $0.topic == first.topic }
            rest = rest[run.endIndex...]
            if let target = target(first.partition) { apply(target.wanted(run), to: target) }
        }
        for end in batch.ends { target(end.partition)?.reached(end) }
        for (place, reason) in batch.damages {
            guard let target = target(place.partition), target.reading?.topic == place.topic else { continue }
            let kind: PartitionFault.Kind = place.topic == .stock ? .stock : .journal
            refuse(target, PartitionFault(kind, at: place.offset, "\(place.topic) [\(place.partition)]: \(reason)"))
        }
        guard targets.allSatisfy({ $0.reading == nil }) else { return }
        try finishReading()
    }

    private func apply(_ run: ArraySlice<ChangelogBatch.Record>, to target: TakeoverTarget) {
        if stage == .stock || stage == .journal { recordCount += run.count }
        guard stage != .stock else {
            target.restore?.applyStock(run, by: context.stockRestorer)
            return
        }
        for record in run {
            guard let value = record.value,
                let record = try? context.journalReader.read(
                    value, partition: record.partition, offset: record.offset, timestamp: record.timestamp)
            else { continue }
            switch stage {
            case .tail: target.tail.addCommitted(record)
            case .claims: target.tail.addUncommitted(record)
            case .between: target.addBetween(record, ids: ids)
            case .journal: target.restore?.apply(record, by: context.journalReader, now: now)
            case .head: target.restore?.applyHead(record)
            default: break
            }
        }
    }

    /// All partitions are read as far as this stage needs.
    private func finishReading() throws(LogError) {
        guard !targets.isEmpty else { return stage = .done }
        switch stage {
        case .tail:
            let further = targets.filter { $0.readTailFurther() }
            if !further.isEmpty { return isOpen = false }
            for target in targets { target.readClaims() }
            enter(.claims)
        case .claims: stage = .groupOffsets
        case .between: try finishBetween()
        case .stock:
            for target in targets { target.readJournal(context, for: purpose) }
            enter(.journal)
        case .journal:
            let further = targets.filter { $0.readJournalFurther(context) }
            if !further.isEmpty { return isOpen = false }
            for target in targets { target.readHead() }
            enter(.head)
        case .head: stage = .confirming
        default: break
        }
    }

    /// Begins to ask the group whether this worker still is a member.
    private func beginMembership() {
        guard !isInspection else {
            for target in targets { target.readUnclaimed() }
            return beginStock()
        }
        stage = .membership
        // Nothing could be committed that would not claim to have read something.
        if knownOffsets.isEmpty { fence(suspects) }
    }

    /// The ids under which somebody may still write, this worker's former self included: a journal may have lost its claim.
    private var suspects: Set<String> {
        targets.reduce(into: []) { $0.formUnion($1.tail.suspects.union(cached[$1.partition]?.ids ?? [])) }
    }

    private func fence(_ suspects: Set<String>) {
        if ids.isEmpty || !suspects.isDisjoint(with: ids) {
            // Another process of the same name may have claimed after these ids were taken over, and have some of them now.
            (ids, stage) = ([], .producers)
        } else if suspects.isEmpty {
            stage = .deciding(since: now)
        } else {
            stage = .fencing(suspects)
        }
    }

    /// The ids are fenced, but for these. Partitions must wait in which one of them may still write.
    private func fenced(but undecided: Set<String>, now: Timestamp) -> [PartitionFailure] {
        let waiting = targets.filter { !undecided.isDisjoint(with: $0.tail.suspects) }
        stage = .deciding(since: now)
        leaveOut { target in waiting.contains { $0 === target } }
        return waiting.map {
            ($0.partition, PartitionFault(.journal, "the transaction of its former owner cannot be ended now"))
        }
    }

    /// All that was written before is decided, but for these transactions. Brokers end those of former owners within a moment. A
    /// partition with another program's cannot be read to its end, so it is not claimed.
    private func decided(but open: [ChangelogPosition], isLate: Bool) -> [PartitionFailure] {
        guard open.isEmpty || isLate else { return [] }
        leaveOut { target in open.contains { $0.partition == target.partition } }
        if !isDone { beginClaims() }
        return open.map { transaction in
            (
                transaction.partition,
                PartitionFault(
                    .transaction(transaction.topic), at: transaction.offset,
                    "another program's transaction is open in \(transaction.topic) [\(transaction.partition)] since offset"
                        + " \(transaction.offset)")
            )
        }
    }

    // MARK: - The claim

    private func beginClaims() {
        unclaimed = partitions
        stage = unclaimed.isEmpty ? .done : .beginningClaim
    }

    /// The partitions that are being claimed: together, unless such claims have failed.
    var claiming: [Int32] {
        switch stage {
        case .beginningClaim, .writingClaim, .committingClaim: Array(unclaimed.prefix(claimLimit))
        default: []
        }
    }

    private func claim(on target: TakeoverTarget) -> JournalClaim {
        JournalClaim(
            ids: ids, since: target.since, fenced: target.tail.suspects.subtracting(ids).sorted(), group: context.settings.group,
            instance: context.settings.instance, partitions: assignment.partitionCount, next: target.tail.positions.ofHome)
    }

    /// The claims are committed.
    private func claimed() {
        unclaimed.removeFirst(min(claimLimit, unclaimed.count))
        guard unclaimed.isEmpty else { return stage = .beginningClaim }
        claimAttempts += 1
        stage = .extentsAgain
    }

    /// All partitions are read up to the claims.
    private func finishBetween() throws(LogError) {
        if let target = targets.first(where: { $0.claim == nil }) {
            throw LogError(
                .startOver, "the claim to partition \(target.partition) is not in the journal: another worker has fenced it")
        }
        let others = targets.reduce(into: Set<String>()) { $0.formUnion($1.between) }
        if !others.isEmpty {
            guard claimAttempts < Self.mostClaims else { throw LogError(.startOver, "others keep claiming the same partitions") }
            for target in targets { target.claimAgain() }
            return fence(others)
        }
        isOwner = true
        for target in targets {
            claims[target.partition] = target.claim
            if let state = cached[target.partition] { resume(state, of: target) }
        }
        if targets.allSatisfy({ state(of: $0) != nil }) {
            beginEvidence()
        } else if purpose == .work {
            stage = .answerReaches
        } else {
            beginStock()
        }
    }

    /// Goes on with a former state if the journal is as it was, and else drops it.
    private func resume(_ state: PartitionState, of target: TakeoverTarget) {
        guard let extents = target.extents, let claim = target.claim else { return }
        // An input may have got partitions.
        if target.isUnchanged(since: state), Set(state.committed.positions.all.map(\.input)) == Set(inputs(of: target)) {
            let isRewritten = state.resume(claim: claim, ids: ids, lastNote: target.tail.note?.offset, extents)
            if isRewritten { rewritten.append(target.partition) }
        } else {
            cached[target.partition] = nil
            guard let fault = lossFault(of: state, target.tail, extents) else { return }
            if fault.kind == .journal { forgotten.merge(state.groupOffsets()) { $1 } }
            target.refused = (state, fault)
        }
    }

    /// The fault of a partition whose journal lacks records that this worker wrote, or whose stock lacks records that no state in
    /// memory makes good.
    private func lossFault(of state: PartitionState, _ tail: JournalTail, _ extents: PartitionExtents) -> PartitionFault? {
        let lost = state.committed.records - tail.records
        if state.truncated.contains(.results), lost > 0 {
            return .lostEnd(of: extents, missing: lost, anchors: state.positions)
        }
        guard state.truncated.contains(.stock) else { return nil }
        return PartitionFault(
            .stock, at: extents.stock.upperBound,
            "stock [\(state.partition)] holds offsets \(extents.stock.lowerBound) to \(extents.stock.upperBound), and lacks records"
                + " that were written or read before: the topic was recreated, or lost a part", anchors: state.positions)
    }

    /// The claim of another group that took a partition away from this worker, whose claims stood there.
    func otherOwner(of former: [Int32: Offset]) -> JournalTail.LastClaim? {
        for (partition, claim) in former {
            guard let last = target(partition)?.tail.lastClaim, last.offset > claim else { continue }
            if last.group != context.settings.group { return last }
        }
        return nil
    }

    // MARK: - Restoring

    private func beginStock() {
        // An anchor answers no command, but accepts it if the journal does not hold what a worker would look for.
        if purpose.isAnchor { for target in targets { target.reach = AnswerReach(offset: 0, firstUnread: nil) } }
        beginStock(of: targets.filter { state(of: $0) == nil })
    }

    private func beginStock(of targets: [TakeoverTarget]) {
        for target in targets {
            guard let extents = target.extents else { continue }
            target.readStock(
                into: PartitionRestore(
                    extents, assignment: assignment, readsAll: target.mustReadAll, for: purpose,
                    groupOffsets: groupOffsets.filter { inputs(of: target).contains($0.key) }, context: context))
        }
        enter(.stock)
    }

    /// Closes the accounts. Where one does not close, stock and journal are read again from their beginnings.
    private func finishRestore() {
        var incomplete: [TakeoverTarget] = []
        for target in targets {
            guard let restore = target.closedRestore(), let claim = target.claim else { continue }
            if target.mustReadAll {
                incomplete.append(target)
                continue
            }
            let account = restore.acceptedAccount(isCopy: purpose == .anchor(isCopy: true))
            let (state, fault) = restore.finish(claim: claim, ids: ids, now: now)
            accepted = (account, fault)
            if let fault, !purpose.isAnchor {
                target.refused = (state, fault)
            } else {
                cached[target.partition] = state
            }
        }
        if !incomplete.isEmpty {
            beginStock(of: incomplete)
        } else if purpose.isAnchor {
            stage = .done
        } else {
            beginEvidence()
        }
    }

    /// A state that was kept or restored, also one that is not to be read on.
    private func state(of target: TakeoverTarget) -> PartitionState? { cached[target.partition] ?? target.refused?.state }

    private func beginEvidence() {
        for target in targets {
            if let state = state(of: target) { target.examine(state) }
        }
        stage = .evidence
        if evidenceRanges.isEmpty { compared() }
    }

    private var evidenceRanges: [InputPartition: Range<Offset>] {
        targets.reduce(into: [:]) { ranges, target in
            if target.mismatches.isEmpty, let evidence = target.evidence { ranges.merge(evidence.ranges) { $1 } }
        }
    }

    private func compared() {
        for target in targets {
            if let fault = target.decisiveFault {
                refuse(target, fault)
            } else {
                cached[target.partition]?.applied.evidence.thin()
            }
        }
        stage = .done
    }

    /// The restored states.
    var states: [PartitionState] { partitions.compactMap { cached[$0] } }
}
