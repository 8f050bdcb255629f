import JuiceMaker
import JuiceMessages

/// Takes over the partitions of one assignment: a state machine without access to the log.
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
    /// What to do next. The worker does it and returns the outcome by the function named alike.
    enum Action: Equatable {
        case findExtents([Int32])
        case openChangelog([ChangelogPosition], Isolation)
        case readChangelog
        case findGroupOffsets([InputPartition])
        case confirmMembership([InputPosition])
        case initTransactions
        case fence(Set<String>)
        case beginClaim
        case writeClaims([Int32: JournalClaim])
        case commitClaims
        case findAnswerStarts([InputPosition])
        case readBack([InputPartition: Range<Offset>])
        case finish
    }

    /// A partition that must not be read on, and why.
    struct Refusal: Equatable {
        let partition: Int32
        let fault: PartitionFault
    }

    /// What takeovers have in common.
    struct Rules {
        init(_ settings: WorkerSettings) {
            (menu, window, answerBytes) = (settings.menu, settings.window, settings.answerBytes)
            (group, instance) = (settings.group, settings.instance)
            reader = JournalReader(menu: settings.menu)
            stock = StockRestorer(menu: settings.menu)
            commands = CommandReader(menu: settings.menu, partitionCount: settings.partitionCount)
        }

        let menu: Menu
        let window: DuplicateWindow
        private let answerBytes: Int
        let group: String
        let instance: String
        let reader: JournalReader
        let stock: StockRestorer
        let commands: CommandReader

        var newMemory: DuplicateMemory { DuplicateMemory(window: window, valueLimit: answerBytes) }
    }

    enum Stage {
        case extents
        case tail
        case claims
        case groupOffsets
        case membership
        case producers
        case fencing(Set<String>)
        case claiming(ClaimStep)
        case extentsAgain
        case between
        case starts
        case stock
        case journal
        case evidence
        case explaining
        case done
    }

    enum ClaimStep { case begin, write, commit }

    let share: InputShare
    let rules: Rules
    /// States of before, which are used again if nobody has written to their partitions since.
    private(set) var kept: PartitionTable
    var stage = Stage.extents
    var targets: [Int32: TakeoverTarget] = [:]
    /// The ids of the producers; empty until they are made.
    private(set) var ids: [String]
    private var groupOffsets: [InputPartition: Offset] = [:]
    var isOpen = false
    private(set) var recordCount = 0
    private(set) var refusals: [Refusal] = []
    /// Where the journals ended when they were looked at last.
    private(set) var journalEnds: [Int32: Offset] = [:]
    /// How far the inputs were handled that journals no longer tell of. After a restart, only the group can say it.
    private(set) var forgotten: [InputPosition] = []
    /// Partitions whose stock is to be written again, since its topic has lost records.
    private(set) var rewritten: [Int32] = []
    private var claimAttempts = 0
    /// The most partitions that are claimed in one transaction.
    private let claimLimit: Int
    private var unclaimed: [Int32] = []
    /// Whether the claim is one behind which nobody else can write.
    private(set) var isOwner = false
    /// Where the claims stand, once they are.
    private(set) var claims: [Int32: Offset] = [:]
    /// When something was read last.
    private var readAt: Timestamp?

    /// After so many claims in a row with others in between, the group should sort out who is the owner.
    private static let mostClaims = 5
    /// How long reading may find nothing, in milliseconds: a topic that was made anew meanwhile may never get as long again.
    static let longestRead: Timestamp = 30_000

    /// - Parameters:
    ///   - ids: the ids of producers that have claimed nothing yet; empty if they are still to be made.
    ///   - kept: states of before.
    ///   - leftOut: partitions that are not to be taken over now.
    ///   - claimLimit: the most partitions that are claimed in one transaction.
    ///   - mismatches: places at which an input was found to be another log than the one that was read.
    init(
        share: InputShare, ids: [String], kept: PartitionTable = PartitionTable(), leavingOut leftOut: [Int32] = [],
        claimLimit: Int = .max, mismatches: [InputMismatch] = [], rules: Rules
    ) {
        (self.share, self.ids, self.kept, self.claimLimit, self.rules) = (share, ids, kept, claimLimit, rules)
        if Set(leftOut) == Set(share.partitions) { stage = .done }
        for partition in share.partitions where !leftOut.contains(partition) {
            targets[partition] = TakeoverTarget(partition)
            targets[partition]?.mismatch = mismatches.first { $0.input.partition % share.partitionCount == partition }
        }
    }

    var partitions: [Int32] { targets.keys.sorted() }

    var action: Action {
        switch stage {
        case .extents: return .findExtents(partitions)
        case .tail, .between, .journal, .stock, .explaining: return isOpen ? .readChangelog : open(.committed)
        case .claims: return isOpen ? .readChangelog : open(.uncommitted)
        case .groupOffsets: return .findGroupOffsets(inputsWithoutPosition)
        case .membership: return .confirmMembership(knownPositions)
        case .producers: return .initTransactions
        case .fencing(let ids): return .fence(ids)
        case .claiming(.begin): return .beginClaim
        case .claiming(.write): return .writeClaims(targets.filter { claiming.contains($0.key) }.mapValues(claim))
        case .claiming(.commit): return .commitClaims
        case .extentsAgain: return .findExtents(partitions)
        case .starts: return .findAnswerStarts(knownPositions)
        case .evidence: return .readBack(evidenceRanges)
        case .done: return .finish
        }
    }

    private func open(_ isolation: Isolation) -> Action {
        .openChangelog(partitions.compactMap { targets[$0]?.opening }, isolation)
    }

    /// The partitions that are being claimed: together, unless such claims have failed.
    var claiming: [Int32] {
        guard case .claiming = stage else { return [] }
        return Array(unclaimed.prefix(claimLimit))
    }

    private func claim(on target: TakeoverTarget) -> JournalClaim {
        JournalClaim(
            ids: ids, since: target.since, group: rules.group, instance: rules.instance, partitions: share.partitionCount,
            next: target.tail.positions.ofHome)
    }

    private var inputsWithoutPosition: [InputPartition] {
        targets.values.flatMap { target in share.inputs(of: target.partition).filter { target.tail.positions[$0] == nil } }.sorted()
    }

    private var knownPositions: [InputPosition] {
        targets.values.flatMap { target in
            share.inputs(of: target.partition).compactMap { input in
                (target.tail.positions[input] ?? groupOffsets[input]).map {
                    InputPosition(topic: input.topic, partition: input.partition, offset: $0)
                }
            }
        }.sorted { ($0.topic.rawValue, $0.partition) < ($1.topic.rawValue, $1.partition) }
    }

    private func refuse(_ partition: Int32, _ fault: PartitionFault) {
        targets[partition] = nil
        kept[partition] = nil
        refusals.append(Refusal(partition: partition, fault: fault))
    }

    /// Goes on without these partitions, which cannot be taken over now.
    func leaveOut(_ partitions: some Sequence<Int32>) {
        for partition in partitions { targets[partition] = nil }
        if targets.isEmpty { stage = .done }
    }
}

// MARK: - Before the claim

extension Takeover {
    /// The log says where the partitions' logs begin and end.
    func found(_ extents: [PartitionExtents]) {
        for extent in extents {
            targets[extent.partition]?.extents = extent
            kept[extent.partition]?.compare(extent)
            journalEnds[extent.partition] = extent.results.upperBound
        }
        leaveOut(partitions.filter { targets[$0]?.extents == nil })
        guard !targets.isEmpty else { return stage = .done }
        if case .extentsAgain = stage {
            for partition in partitions { targets[partition]?.readBetween() }
            return enter(.between)
        }
        for partition in partitions { targets[partition]?.readTail() }
        enter(.tail)
    }

    /// The changelogs are open.
    func opened() { (isOpen, readAt) = (true, nil) }

    private func enter(_ stage: Stage) {
        self.stage = stage
        isOpen = false
        // There may be nothing to read.
        advance()
    }

    /// The next records of the changelogs.
    ///
    /// - Throws: ``LogError`` if another worker has claimed a partition since, or a topic was made anew.
    func read(_ batch: ChangelogBatch, now: Timestamp) throws(LogError) {
        if !batch.records.isEmpty || readAt == nil { readAt = now }
        if let readAt, now - readAt > Self.longestRead {
            throw LogError(.startOver, "results or stock do not reach as far as they did a moment ago")
        }
        var rest = batch.records[...]
        // Records come in runs of one topic partition.
        while let first = rest.first {
            let run = rest.prefix { $0.partition == first.partition && $0.topic == first.topic }
            rest = rest[run.endIndex...]
            guard var target = targets.removeValue(forKey: first.partition) else { continue }
            apply(target.wanted(run), to: &target, now: now)
            targets[first.partition] = target
        }
        for end in batch.ends { targets[end.partition]?.reached(end) }
        for (place, reason) in batch.damages where targets[place.partition]?.reading?.topic == place.topic {
            let kind: PartitionFault.Kind = place.topic == .stock ? .stock : .journal
            refuse(place.partition, PartitionFault(kind, at: place.offset, "\(place.topic) [\(place.partition)]: \(reason)"))
        }
        guard targets.values.allSatisfy({ $0.reading == nil }) else { return }
        try finishReading(now: now)
    }

    private func apply(_ run: ArraySlice<ChangelogBatch.Record>, to target: inout TakeoverTarget, now: Timestamp) {
        if case .stock = stage {
            recordCount += run.count
            target.restore?.applyStock(run, by: rules.stock)
            return
        }
        if case .journal = stage { recordCount += run.count }
        for record in run {
            guard let value = record.value, let entry = try? rules.reader.read(value) else { continue }
            switch stage {
            case .tail: target.addCommitted(entry, at: record.offset)
            case .claims: target.addUncommitted(entry, at: record.offset)
            case .between: target.addBetween(entry, at: record.offset, ids: ids)
            case .journal: target.restore(entry, record, value, by: rules.reader, now: now)
            case .explaining: target.explain(entry)
            default: break
            }
        }
    }

    private func advance() {
        guard targets.values.allSatisfy({ $0.reading == nil }) else { return }
        // Nothing is read, so nothing is found that could throw.
        try? finishReading(now: 0)
    }

    /// All partitions are read as far as this stage needs.
    private func finishReading(now: Timestamp) throws(LogError) {
        guard !targets.isEmpty else { return stage = .done }
        switch stage {
        case .tail:
            let further = partitions.filter { targets[$0]?.readTailFurther() ?? false }
            if !further.isEmpty { return isOpen = false }
            for partition in partitions { targets[partition]?.readClaims() }
            enter(.claims)
        case .claims:
            stage = inputsWithoutPosition.isEmpty ? .membership : .groupOffsets
            skipEmptyMembership()
        case .between: try finishBetween()
        case .stock:
            for partition in partitions {
                targets[partition]?.restore?.finishedStock()
                targets[partition]?.readJournal(by: rules)
            }
            enter(.journal)
        case .journal: finishJournal(now: now)
        case .explaining:
            for partition in partitions {
                if let fault = targets[partition]?.mismatchFault { refuse(partition, fault) }
            }
            stage = .done
        default: break
        }
    }

    /// The group's committed offsets.
    func found(groupOffsets: [InputPartition: Offset]) {
        self.groupOffsets.merge(groupOffsets) { $1 }
        stage = .membership
        skipEmptyMembership()
    }

    private func skipEmptyMembership() {
        // There is nothing to commit that would not claim to have read something.
        if case .membership = stage, knownPositions.isEmpty { confirmed() }
    }

    /// The group takes this worker for a member.
    func confirmed() { fence(suspects) }

    /// New producers are made. That fences whoever had their ids when it wrote what was read here.
    func initialised(_ ids: [String]) {
        self.ids = ids
        fence(suspects.subtracting(ids))
    }

    /// The ids under which somebody may still write, this worker's former self included: a journal may have lost its claim.
    private var suspects: Set<String> {
        targets.values.reduce(into: []) { suspects, target in
            suspects.formUnion(target.suspects)
            suspects.formUnion(kept[target.partition]?.ids ?? [])
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
        stage = unclaimed.isEmpty ? .done : .claiming(.begin)
    }

    /// The ids are fenced, but for these.
    ///
    /// - Returns: the partitions that must wait, since one of them may still write there.
    func fenced(but undecided: Set<String>) -> [Int32] {
        let waiting = partitions.filter { partition in targets[partition].map { !undecided.isDisjoint(with: $0.suspects) } ?? false
        }
        leaveOut(waiting)
        beginClaims()
        return waiting
    }
}

// MARK: - The claim

extension Takeover {
    /// The transaction of the claims has begun.
    func begun() { stage = .claiming(.write) }

    /// The claims are written.
    func written() { stage = .claiming(.commit) }

    /// The claims are committed.
    func claimed() {
        unclaimed.removeFirst(min(claimLimit, unclaimed.count))
        guard unclaimed.isEmpty else { return stage = .claiming(.begin) }
        claimAttempts += 1
        stage = .extentsAgain
    }

    /// All partitions are read up to the claims.
    private func finishBetween() throws(LogError) {
        if let partition = partitions.first(where: { targets[$0]?.claim == nil }) {
            throw LogError(.startOver, "the claim to partition \(partition) is not in the journal: another worker has fenced it")
        }
        let others = targets.values.reduce(into: Set<String>()) { $0.formUnion($1.between) }
        if !others.isEmpty {
            guard claimAttempts < Self.mostClaims else { throw LogError(.startOver, "others keep claiming the same partitions") }
            for partition in partitions { targets[partition]?.claimAgain() }
            return fence(others)
        }
        isOwner = true
        claims = targets.compactMapValues(\.claim)
        for partition in partitions {
            guard let state = kept[partition], let target = targets[partition], let extents = target.extents,
                let claim = target.claim
            else { continue }
            // An input may have got partitions.
            if target.isUnchanged(since: state), Set(state.committed.all.map(\.key)) == Set(share.inputs(of: partition)) {
                if state.resume(claim: claim, ids: ids, extents) { rewritten.append(partition) }
            } else {
                let fault = lossFault(of: state, target.tail, extents)
                kept[partition] = nil
                if let fault {
                    forgotten += fault.kind == .journal ? state.positions : []
                    refuse(partition, fault)
                }
            }
        }
        stage = targets.values.contains { kept[$0.partition] == nil } ? .starts : .evidence
        if case .evidence = stage { beginEvidence() }
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
            guard let last = targets[partition]?.tail.lastClaim, last.offset > claim, last.owner.group != rules.group else {
                continue
            }
            return last.owner
        }
        return nil
    }
}

// MARK: - Restoring

extension Takeover {
    /// The first answer of each partition that a repeat may still ask for.
    func found(answerStarts: [Int32: Offset]) {
        for partition in partitions {
            guard let extents = targets[partition]?.extents else { continue }
            targets[partition]?.answerStart = answerStarts[partition] ?? extents.results.upperBound
        }
        readStock()
    }

    private func readStock() {
        for partition in partitions {
            guard kept[partition] == nil, let extents = targets[partition]?.extents else { continue }
            targets[partition]?.restore = PartitionRestore(extents, share: share, menu: rules.menu, duplicates: rules.newMemory)
            targets[partition]?.readStock()
        }
        enter(.stock)
    }

    private func finishJournal(now: Timestamp) {
        let further = partitions.filter { targets[$0]?.readJournalFurther(by: rules) ?? false }
        if !further.isEmpty { return isOpen = false }
        let incomplete = partitions.filter { targets[$0]?.mustRestoreFromAnswers() ?? false }
        if !incomplete.isEmpty { return readStock() }
        for partition in partitions {
            guard let claim = targets[partition]?.claim, let start = targets[partition]?.journalStart else { continue }
            let result = targets[partition]?.restore?.finish(claim: claim, from: start, groupOffsets: groupOffsets, now: now)
            switch result {
            case .success(let restored): kept[partition] = PartitionState(restored, ids: ids)
            case .failure(let fault): refuse(partition, fault)
            case nil: break
            }
        }
        beginEvidence()
    }

    private func beginEvidence() {
        for partition in partitions {
            if let state = kept[partition] { targets[partition]?.examine(state) }
        }
        stage = .evidence
        if evidenceRanges.isEmpty { compared() }
    }

    private var evidenceRanges: [InputPartition: Range<Offset>] {
        targets.values.reduce(into: [:]) { ranges, target in
            guard target.mismatch == nil, let evidence = target.evidence else { return }
            ranges.merge(evidence.ranges) { $1 }
        }
    }

    /// Ranges of the inputs were read again.
    func compare(_ records: [CommandRecord], damaged: Set<InputPartition>) {
        for partition in partitions where targets[partition]?.mismatch == nil {
            let evidence = targets[partition]?.evidence
            targets[partition]?.mismatch = evidence?.mismatch(with: records, damaged: damaged, by: rules.commands)
        }
        compared()
    }

    private func compared() {
        for partition in partitions {
            guard let target = targets[partition] else { continue }
            if target.mismatch == nil, let fault = target.explainedPositionFault {
                refuse(partition, fault)
                continue
            }
            kept[partition]?.applied.answered.thin()
            targets[partition]?.readExplanation()
        }
        if targets.values.contains(where: { $0.reading != nil }) {
            stage = .explaining
            isOpen = false
        } else {
            stage = .done
        }
    }

    /// The restored states.
    var states: [PartitionState] { partitions.compactMap { kept[$0] } }
}

// MARK: - On a log

extension Takeover {
    /// Does what is to be done next.
    ///
    /// - Returns: partitions that cannot be taken over now, and why.
    func perform(on log: some CommandLog) throws(LogError) -> [Refusal] {
        switch action {
        case .findExtents(let partitions):
            let (extents, leaderless) = try log.extents(of: partitions)
            found(extents)
            return leaderless.sorted { $0.key < $1.key }.map { partition, topic in
                Refusal(
                    partition: partition,
                    fault: PartitionFault(.leader(topic: topic), "\(topic) [\(partition)] has no leader, or is gone"))
            }
        case .openChangelog(let positions, let isolation):
            try log.openChangelog(positions, isolation: isolation)
            opened()
        case .readChangelog: try read(try log.readChangelog(), now: log.now)
        case .findGroupOffsets(let inputs): found(groupOffsets: try log.groupOffsets(of: inputs))
        case .confirmMembership(let positions):
            try log.confirmMembership(positions)
            confirmed()
        case .initTransactions: initialised(try log.initTransactions())
        case .fence(let ids):
            let undecided = try log.fence(ids)
            return fenced(but: undecided).map {
                Refusal(partition: $0, fault: PartitionFault(.journal, "the transaction of its former owner cannot be ended now"))
            }
        case .beginClaim:
            try log.begin()
            begun()
        case .writeClaims(let claims):
            var output = Output(log)
            for (partition, claim) in claims.sorted(by: { $0.key < $1.key }) { try output.journal(partition, .claim(claim)) }
            written()
        case .commitClaims:
            try log.commit()
            claimed()
        case .findAnswerStarts(let positions):
            found(answerStarts: try log.answerStarts(at: positions, retention: rules.window.retention))
        case .readBack(let ranges):
            let (records, damaged) = try log.readBack(ranges)
            compare(records, damaged: damaged)
        case .finish: break
        }
        return []
    }
}
