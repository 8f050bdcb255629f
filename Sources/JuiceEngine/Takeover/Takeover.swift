import JuiceDomain
import JuiceMessages

/// Takes over the partitions of one assignment.
///
/// The group's assignment alone proves nothing: a worker that was frozen for a minute still believes in its own, and a deleted
/// group remembers nobody. So the journal says who owns a partition, by claims in it, and a worker
/// 1. reads the journal's end, for whom to fence and how far the inputs are handled;
/// 2. asks the group whether it is still a member, so that a stale one does not take partitions from their owner;
/// 3. makes new producers, all together;
/// 4. fences everybody who may still write: what they have open is aborted, and what they send later is refused;
/// 5. writes its claim as its first transaction;
/// 6. reads the journal up to its claim. If others claimed in between, it fences them and claims again: only a claim behind
///    which nobody can write is one to build on;
/// 7. restores the state, and compares the inputs with what the journal says of them.
///
/// docs/JOURNAL.md says why this is enough, and which failure each step prevents.
///
/// A class, since what it restores is large: changing a copy would copy all of it with each batch that is read.
final class Takeover {
    private enum Stage: Equatable {
        case extents, tail, claims, groupOffsets, membership, producers
        case fencing(Set<String>)
        case beginningClaim, writingClaim, committingClaim
        case extentsAgain, between
        case answerStarts, stock, journal
        case evidence, explaining
        case done
    }

    private let share: InputAssignment
    private let context: WorkerContext
    /// States of before, which are used again if nobody has written to their partitions since, and those that are restored.
    private(set) var cached: PartitionTable
    private var stage = Stage.extents
    /// The partitions that are taken over, in order.
    private var targets: [TakeoverTarget]
    /// The ids of the producers; empty until they are made.
    private var ids: [String]
    private var groupOffsets: [InputPartition: Offset] = [:]
    /// Whether the changelogs are open as far as this stage reads them.
    private var isOpen = false
    private(set) var recordCount = 0
    /// Partitions that must not be read on.
    private(set) var refusals: [PartitionFailure] = []
    /// Where the journals ended when they were looked at last.
    private(set) var journalEnds: [Int32: Offset] = [:]
    /// The positions of inputs whose journal was lost. They are published, since after a restart only the group has them.
    private(set) var forgotten: [InputPosition] = []
    /// Partitions whose stock is to be written again, since its topic has lost records.
    private(set) var rewritten: [Int32] = []
    private var claimAttempts = 0
    /// The most partitions that are claimed in one transaction.
    private let claimLimit: Int
    private var unclaimed: [Int32] = []
    /// Whether the claims are clean: everybody named before them is fenced.
    private(set) var isOwner = false
    /// Where the claims stand, once they are.
    private(set) var claims: [Int32: Offset] = [:]
    /// When anything was read last.
    private var readAt: Timestamp?

    /// After so many claims in a row that others interfered with, the group should decide who is the owner.
    private static let mostClaims = 5
    /// How long reading may find nothing, in milliseconds: a topic that was made anew meanwhile may never grow to the old end.
    static let longestRead: Timestamp = 30_000

    /// - Parameters:
    ///   - ids: the ids of producers that have claimed nothing yet; empty if they are still to be made.
    ///   - cached: states of before.
    ///   - leftOut: partitions that are not to be taken over now.
    ///   - claimLimit: the most partitions that are claimed in one transaction.
    ///   - mismatches: places at which an input was found to be another log than the one that was read.
    init(
        share: InputAssignment, ids: [String], cached: PartitionTable = PartitionTable(), leavingOut leftOut: [Int32] = [],
        claimLimit: Int = .max, mismatches: [InputMismatch] = [], context: WorkerContext
    ) {
        (self.share, self.ids, self.cached, self.claimLimit, self.context) = (share, ids, cached, claimLimit, context)
        targets = share.partitions.filter { !leftOut.contains($0) }.map { partition in
            TakeoverTarget(partition, mismatch: mismatches.first { $0.input.partition % share.partitionCount == partition })
        }
        if targets.isEmpty { stage = .done }
    }

    var isDone: Bool { stage == .done }

    /// Makes the next call on the log.
    ///
    /// - Returns: partitions that cannot be taken over now. It goes on without them.
    func step(on log: some CommandLog) throws(LogError) -> [PartitionFailure] {
        switch stage {
        case .extents, .extentsAgain:
            let (extents, leaderless) = try log.extents(of: partitions)
            found(extents)
            return leaderless.sorted { $0.key < $1.key }.map { partition, topic in
                let reason = "\(topic) [\(partition)] has no leader, or is gone"
                return PartitionFailure(partition, PartitionFault(.leader(topic: topic), reason))
            }
        case .tail, .claims, .between, .stock, .journal, .explaining:
            guard !isOpen else {
                try read(try log.readChangelog(), now: log.now)
                break
            }
            try log.openChangelog(targets.compactMap(\.opening), isolation: stage == .claims ? .uncommitted : .committed)
            (isOpen, readAt) = (true, nil)
        case .groupOffsets:
            groupOffsets.merge(try log.groupOffsets(of: inputsWithoutPosition)) { $1 }
            beginMembership()
        case .membership:
            try log.confirmMembership(knownPositions)
            fence(suspects)
        case .producers:
            ids = try log.initTransactions()
            // That fenced whoever had these ids when it wrote what was read here.
            fence(suspects.subtracting(ids))
        case .fencing(let ids): return fenced(but: try log.fence(ids))
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
        case .answerStarts:
            let starts = try log.answerStarts(at: knownPositions, retention: context.settings.window.retention)
            for target in targets { target.answerStart = starts[target.partition] ?? target.results.upperBound }
            beginStock()
        case .evidence:
            let (records, damaged) = try log.readBack(evidenceRanges)
            compare(records, damaged: damaged)
        case .done: break
        }
        return []
    }

    private var partitions: [Int32] { targets.map(\.partition) }

    /// A partition that is taken over; nil for another one.
    func target(_ partition: Int32) -> TakeoverTarget? { targets.first { $0.partition == partition } }

    /// The partitions that are being claimed: together, unless such claims have failed.
    var claiming: [Int32] {
        switch stage {
        case .beginningClaim, .writingClaim, .committingClaim: Array(unclaimed.prefix(claimLimit))
        default: []
        }
    }

    private func claim(on target: TakeoverTarget) -> JournalClaim {
        JournalClaim(
            ids: ids, since: target.since, group: context.settings.group, instance: context.settings.instance,
            partitions: share.partitionCount,
            next: target.tail.positions.ofHome)
    }

    private var inputsWithoutPosition: [InputPartition] {
        targets.flatMap { target in share.inputs(of: target.partition).filter { target.tail.positions[$0] == nil } }.sorted()
    }

    private var knownPositions: [InputPosition] {
        targets.flatMap { target in
            share.inputs(of: target.partition).compactMap { input in
                (target.tail.positions[input] ?? groupOffsets[input]).map { InputPosition(input, $0) }
            }
        }.sorted { ($0.topic.rawValue, $0.partition) < ($1.topic.rawValue, $1.partition) }
    }

    private func refuse(_ partition: Int32, _ fault: PartitionFault) {
        targets.removeAll { $0.partition == partition }
        cached[partition] = nil
        refusals.append(PartitionFailure(partition, fault))
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
            journalEnds[extent.partition] = extent.results.upperBound
        }
        leaveOut { $0.extents == nil }
        guard !isDone else { return }
        if stage == .extentsAgain {
            for target in targets { target.readBetween() }
            return enter(.between)
        }
        for target in targets { target.readTail() }
        enter(.tail)
    }

    private func enter(_ stage: Stage) {
        self.stage = stage
        isOpen = false
        guard targets.allSatisfy({ $0.reading == nil }) else { return }
        // There is nothing to read, so nothing is found that could throw.
        try? finishReading(now: 0)
    }

    /// The next records of the changelogs.
    ///
    /// - Throws: ``LogError`` if another worker has claimed a partition since, or a topic was made anew.
    private func read(_ batch: ChangelogBatch, now: Timestamp) throws(LogError) {
        if !batch.records.isEmpty || readAt == nil { readAt = now }
        if let readAt, now - readAt > Self.longestRead {
            throw LogError(.startOver, "results or stock do not reach as far as they did a moment ago")
        }
        var rest = batch.records[...]
        // Records come in runs of one topic partition.
        while let first = rest.first {
            let run = rest.prefix { $0.partition == first.partition && $0.topic == first.topic }
            rest = rest[run.endIndex...]
            if let target = target(first.partition) { apply(target.wanted(run), to: target, now: now) }
        }
        for end in batch.ends { target(end.partition)?.reached(end) }
        for (place, reason) in batch.damages where target(place.partition)?.reading?.topic == place.topic {
            let kind: PartitionFault.Kind = place.topic == .stock ? .stock : .journal
            refuse(place.partition, PartitionFault(kind, at: place.offset, "\(place.topic) [\(place.partition)]: \(reason)"))
        }
        guard targets.allSatisfy({ $0.reading == nil }) else { return }
        try finishReading(now: now)
    }

    private func apply(_ run: ArraySlice<ChangelogBatch.Record>, to target: TakeoverTarget, now: Timestamp) {
        if stage == .stock {
            recordCount += run.count
            target.restore?.applyStock(run, by: context.stockRestorer)
            return
        }
        if stage == .journal { recordCount += run.count }
        for record in run {
            guard let value = record.value, let entry = try? context.journalReader.read(value) else { continue }
            switch stage {
            case .tail: target.tail.addCommitted(entry, at: record.offset)
            case .claims: target.tail.addUncommitted(entry, at: record.offset)
            case .between: target.addBetween(entry, at: record.offset, ids: ids)
            case .journal: target.restore(entry, record, value, by: context.journalReader, now: now)
            case .explaining: target.explain(entry)
            default: break
            }
        }
    }

    /// All partitions are read as far as this stage needs.
    private func finishReading(now: Timestamp) throws(LogError) {
        guard !targets.isEmpty else { return stage = .done }
        switch stage {
        case .tail:
            let further = targets.filter { $0.readTailFurther() }
            if !further.isEmpty { return isOpen = false }
            for target in targets { target.readClaims() }
            enter(.claims)
        case .claims:
            if inputsWithoutPosition.isEmpty { beginMembership() } else { stage = .groupOffsets }
        case .between: try finishBetween()
        case .stock:
            for target in targets {
                target.restore?.finishedStock()
                target.readJournal(context)
            }
            enter(.journal)
        case .journal: finishJournal(now: now)
        case .explaining:
            for target in targets {
                if let fault = target.mismatchFault { refuse(target.partition, fault) }
            }
            stage = .done
        default: break
        }
    }

    /// Begins to ask the group whether this worker still is a member.
    private func beginMembership() {
        stage = .membership
        // Nothing could be committed that would not claim to have read something.
        if knownPositions.isEmpty { fence(suspects) }
    }

    /// The ids under which somebody may still write, this worker's former self included: a journal may have lost its claim.
    private var suspects: Set<String> {
        targets.reduce(into: []) { suspects, target in
            suspects.formUnion(target.suspects)
            suspects.formUnion(cached[target.partition]?.ids ?? [])
        }
    }

    private func fence(_ suspects: Set<String>) {
        if ids.isEmpty || !suspects.isDisjoint(with: ids) {
            // Another process of the same name may have claimed after these ids were taken over, and have some of them now.
            (ids, stage) = ([], .producers)
        } else if suspects.isEmpty {
            beginClaims()
        } else {
            stage = .fencing(suspects)
        }
    }

    private func beginClaims() {
        unclaimed = partitions
        stage = unclaimed.isEmpty ? .done : .beginningClaim
    }

    /// The ids are fenced, but for these. Partitions must wait in which one of them may still write.
    private func fenced(but undecided: Set<String>) -> [PartitionFailure] {
        let waiting = targets.filter { !undecided.isDisjoint(with: $0.suspects) }
        leaveOut { !undecided.isDisjoint(with: $0.suspects) }
        beginClaims()
        return waiting.map {
            PartitionFailure($0.partition, PartitionFault(.journal, "the transaction of its former owner cannot be ended now"))
        }
    }

    // MARK: - The claim

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
            let partition = target.partition
            claims[partition] = target.claim
            guard let state = cached[partition], let extents = target.extents, let claim = target.claim else { continue }
            // An input may have got partitions.
            if target.isUnchanged(since: state), Set(state.committed.all.map(\.key)) == Set(share.inputs(of: partition)) {
                if state.resume(claim: claim, ids: ids, extents) { rewritten.append(partition) }
            } else {
                let fault = lossFault(of: state, target.tail, extents)
                cached[partition] = nil
                if let fault {
                    forgotten += fault.kind == .journal ? state.positions : []
                    refuse(partition, fault)
                }
            }
        }
        if targets.contains(where: { cached[$0.partition] == nil }) { stage = .answerStarts } else { beginEvidence() }
    }

    /// The fault of a partition whose stock lacks records that no state in memory makes good, or whose journal lacks even this
    /// worker's last claim. A journal that only lost its end says how far the inputs are handled, and what was lost is answered
    /// again.
    private func lossFault(of state: PartitionState, _ tail: JournalTail, _ extents: PartitionExtents) -> PartitionFault? {
        let lost: (kind: PartitionFault.Kind, name: String, end: Offset)
        if state.rewound.contains(.stock) {
            lost = (.stock, "stock", extents.stock.upperBound)
        } else if state.rewound.contains(.results), !tail.hasClaim(of: state) {
            lost = (.journal, "results", extents.results.upperBound)
        } else {
            return nil
        }
        return PartitionFault(
            lost.kind, at: lost.end,
            "\(lost.name) [\(state.partition)] ends at offset \(lost.end), and lacks records that were written or read before: the"
                + " topic was made anew, or lost its end", anchors: state.positions)
    }

    /// The owner of another group that took a partition away from this worker.
    func rival(of former: [Int32: Offset]) -> JournalOwner? {
        for (partition, claim) in former {
            guard let last = target(partition)?.tail.lastClaim, last.offset > claim, last.owner.group != context.settings.group
            else {
                continue
            }
            return last.owner
        }
        return nil
    }

    // MARK: - Restoring

    private func beginStock() {
        for target in targets {
            guard cached[target.partition] == nil, let extents = target.extents else { continue }
            target.restore = PartitionRestore(extents, share: share, menu: context.settings.menu, duplicates: context.newMemory)
            target.readStock()
        }
        enter(.stock)
    }

    private func finishJournal(now: Timestamp) {
        let further = targets.filter { $0.readJournalFurther(context) }
        if !further.isEmpty { return isOpen = false }
        let incomplete = targets.filter { $0.mustRestoreFromAnswers() }
        if !incomplete.isEmpty { return beginStock() }
        for target in targets {
            guard let claim = target.claim, let start = target.journalStart else { continue }
            switch target.restore?.finish(claim: claim, from: start, groupOffsets: groupOffsets, now: now) {
            case .success(let restored): cached[target.partition] = PartitionState(restored, ids: ids)
            case .failure(let fault): refuse(target.partition, fault)
            case nil: break
            }
        }
        beginEvidence()
    }

    private func beginEvidence() {
        for target in targets {
            if let state = cached[target.partition] { target.examine(state) }
        }
        stage = .evidence
        if evidenceRanges.isEmpty { compared() }
    }

    private var evidenceRanges: [InputPartition: Range<Offset>] {
        targets.reduce(into: [:]) { ranges, target in
            guard target.mismatch == nil, let evidence = target.evidence else { return }
            ranges.merge(evidence.ranges) { $1 }
        }
    }

    private func compare(_ records: [CommandRecord], damaged: Set<InputPartition>) {
        for target in targets where target.mismatch == nil {
            target.mismatch = target.evidence?.mismatch(with: records, damaged: damaged, by: context.commandReaders.0)
        }
        compared()
    }

    private func compared() {
        for target in targets {
            if target.mismatch == nil, let fault = target.explainedPositionFault {
                refuse(target.partition, fault)
                continue
            }
            cached[target.partition]?.applied.answered.thin()
            target.readExplanation()
        }
        if targets.contains(where: { $0.reading != nil }) {
            stage = .explaining
            isOpen = false
        } else {
            stage = .done
        }
    }

    /// The restored states.
    var states: [PartitionState] { partitions.compactMap { cached[$0] } }

    // MARK: - For an operator's tool

    /// Whether all that there is to know before the claim is known.
    var isSurveyed: Bool {
        switch stage {
        case .extents, .tail, .claims: false
        default: true
        }
    }
}
