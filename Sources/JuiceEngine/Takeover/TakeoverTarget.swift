import JuiceDomain
import JuiceMessages

/// The progress of one partition's takeover: what it has found so far, and which part of a changelog to read next.
final class TakeoverTarget {
    let partition: Int32
    var extents: PartitionExtents? {
        didSet {
            guard firstExtents == nil else { return }
            firstExtents = extents
            tail = JournalTail(partition: partition, from: results.upperBound)
        }
    }
    private var firstExtents: PartitionExtents?
    private(set) var tail: JournalTail
    /// The journal's end when it was read, undecided transactions included.
    private(set) var since: Offset = 0
    /// The offset of this worker's claim.
    private(set) var claim: Offset?
    /// The ids of other claims that were found after `since`.
    private(set) var between: Set<String> = []
    /// Whether others have claimed, or committed anything but claims, since the tail was read.
    private var hasNewRecords = false
    /// How far back repeats may ask for answers; nil if no command will be answered.
    var reach: AnswerReach?
    var restore: PartitionRestore?
    /// A fault in the journal or the stock, and the state that was found with it.
    var refused: (state: PartitionState, fault: PartitionFault)?
    /// What to compare the inputs with, and what differs.
    private(set) var evidence: InputFingerprints?
    private(set) var mismatches: [InputMismatch]
    /// The faults of positions outside their logs.
    private var positionFaults: [PartitionFault] = []

    init(_ partition: Int32, mismatches: [InputMismatch]) {
        (self.partition, self.mismatches) = (partition, mismatches)
        tail = JournalTail(partition: partition, from: 0)
    }

    /// Whether the journal or the stock no longer begins where it did at the first look.
    func hasMoved(to extents: PartitionExtents) -> Bool {
        guard let first = firstExtents else { return false }
        return (first.results.lowerBound, first.stock.lowerBound) != (extents.results.lowerBound, extents.stock.lowerBound)
    }

    var results: Range<Offset> { extents?.results ?? 0..<0 }

    /// Whether the journal has lost answers that repeats could still ask for when the last position note was written.
    var isCut: Bool { tail.note?.position.account?.oldest ?? .max < results.lowerBound }

    private func part(_ topic: ChangelogTopic, _ offsets: Range<Offset>, endsEarly: Bool = false) -> ChangelogReading.Part {
        ChangelogReading.Part(topic: topic, partition: partition, offsets: offsets, endsEarly: endsEarly)
    }

    // MARK: - Before the claim

    /// The journal's end, from further back each time; nil once the last position note or the journal's beginning was read.
    func nextTail() -> ChangelogReading.Part? {
        guard tail.note == nil, tail.start > results.lowerBound else { return nil }
        let span = max(4_096, (results.upperBound - tail.start) * 8)
        tail = JournalTail(partition: partition, from: max(results.lowerBound, results.upperBound - span))
        return part(.results, tail.start..<results.upperBound, endsEarly: true)
    }

    /// The part of the journal that may have claims unknown to the last position note's writer, undecided ones included.
    func claimsToRead() -> ChangelogReading.Part {
        since = results.upperBound
        return part(.results, (tail.note?.offset ?? results.lowerBound)..<since)
    }

    func add(_ record: JournalRecord, isCommitted: Bool) { tail.add(record, isCommitted: isCommitted) }

    /// Proceeds to the restore as if this worker's claim were at the journal's end.
    func skipClaim() { claim = since }

    // MARK: - After the claim

    /// The part of the journal after the tail, up to the claim and beyond.
    func betweenToRead() -> ChangelogReading.Part {
        (claim, between) = (nil, [])
        let start = max(tail.end, results.lowerBound)
        return part(.results, start..<max(start, results.upperBound))
    }

    func addBetween(_ record: JournalRecord, ids: [String]) {
        guard case .claim(let other) = record.note else {
            // A former owner wrote this, and it was decided after the tail was read.
            tail.add(record, isCommitted: true)
            return hasNewRecords = true
        }
        // This worker's own claim must not replace the former owner in the tail.
        tail.add(record, isCommitted: other.ids != ids)
        guard record.offset >= since else { return }
        // A second process of the same name may have claimed with the same ids.
        if other.ids != ids || claim != nil { between.formUnion(other.ids) }
        if other.ids == ids { claim = record.offset }
    }

    /// Prepares another claim, since others have claimed meanwhile. It covers the journal up to its present end.
    func claimAgain() {
        since = results.upperBound
        hasNewRecords = true
    }

    /// Whether the journal still ends with this state: no other worker has written to it since.
    func isUnchanged(since state: PartitionState) -> Bool {
        // A recreated journal may have another claim at the same offset.
        let isLastOwner = tail.owners.lastClaim.map { ($0.offset, $0.ids) == (state.claim, state.ids) } ?? false
        return !hasNewRecords && isLastOwner && !state.truncated.contains(.results)
            && tail.progress.records == state.committed.records
            && tail.positions.all.allSatisfy { state.committed.positions[$0.input] == $0.offset }
    }

    // MARK: - Restoring

    /// Whether this worker had read, and so fenced, every claim before its own that the restore has found.
    var fencedAllOwners: Bool {
        let first = tail.note?.offset ?? 0
        return (restore?.owners.claims ?? [:]).allSatisfy {
            $0.key < first || $0.key >= since || tail.owners.claims[$0.key] == $0.value
        }
    }

    /// The part of the journal to restore from: it has all answers that repeats may ask for, and all changes that the stock may
    /// lack. After that was read, a longer part if it was not enough, and otherwise nil.
    func nextJournal(_ window: DuplicateWindow, for purpose: Takeover.Purpose) -> ChangelogReading.Part? {
        guard let claim, let restore else { return nil }
        // The stock has all changes from before the last note but one.
        let noted = tail.note.map { $0.position.account?.before ?? $0.offset } ?? results.lowerBound
        // If the window is full by count, transactions are large, with few markers between their records.
        var span = Offset(window.count) + Offset(window.count / 4) + 1
        var needed = noted
        if let former = restore.needed {
            if let note = restore.account.uncounted {
                needed = note
            } else if let reach, former > max(reach.offset, results.lowerBound), restore.answerCount < window.count {
                // There were too few answers: markers and aborted records take offsets, too.
                span = max(span, 2 * (claim - former))
                needed = max(reach.offset, claim - span)
            } else {
                return nil
            }
        } else if restore.readsAll || purpose == .anchor(isCopy: true) || reach != nil && isCut {
            needed = results.lowerBound
        } else if purpose == .work, let reach {
            needed = min(noted, max(reach.offset, claim - span))
        }
        needed = max(needed, results.lowerBound)
        let start = needed < noted ? max(results.lowerBound, needed - Self.noteDistance) : needed
        self.restore?.beginJournal(at: start, needing: needed, lastNote: tail.note?.offset ?? 0)
        return part(.results, start..<max(start, claim))
    }

    /// How far to read back beyond what is needed: usually far enough for a position note, so that all needed records count.
    private static let noteDistance: Offset = 4_096

    // MARK: - Another log

    /// Compares a state's positions with the logs, and selects the handled records to read again and compare.
    func examine(_ state: PartitionState) {
        guard let extents else { return }
        let evidence = state.applied.evidence.latest(in: extents)
        self.evidence = evidence
        positionFaults = state.positions.compactMap { Self.fault(of: $0, in: extents, evidence) }
    }

    /// Compares the handled records with those now at their offsets, unless the input is already known to differ.
    func compare(with records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) {
        guard mismatches.isEmpty else { return }
        mismatches = evidence?.mismatches(with: records, damaged: damaged, by: reader) ?? []
    }

    /// The fault of a position outside its log. If the rest of the log still has the handled records, it lost its end. Otherwise it
    /// is a new log, to be read from its beginning.
    private static func fault(
        of position: InputPosition, in extents: PartitionExtents, _ evidence: InputFingerprints
    ) -> PartitionFault? {
        let (input, next) = (position.input, position.offset)
        guard let log = extents.inputs[input], next < log.lowerBound || next > log.upperBound else { return nil }
        let reason =
            next < log.lowerBound
            ? "offsets \(next) to \(log.lowerBound - 1) expired before they were read"
            : "the next offset to read is \(next), but the log ends at \(log.upperBound): the topic was recreated, or lost its end"
        let isSameLog = next > log.upperBound && evidence.ranges[input] != nil
        return PartitionFault(
            .input(input), at: next, "\(input.text): \(reason)",
            anchors: [InputPosition(input, isSameLog ? log.upperBound : log.lowerBound)])
    }

    /// Why the partition must not be read any further; nil if nothing is wrong with it.
    var decisiveFault: PartitionFault? {
        let ofInputs = mismatches.map(fault) + positionFaults
        guard var fault = refused?.fault else { return ofInputs.first }
        // A position counts only in the log whose records prove it.
        let anchors = ofInputs.flatMap(\.anchors)
        // The anchor that accepts a loss moves the other inputs with it.
        let known = fault.missing > 0 ? fault.anchors.prefix(1) : fault.anchors[...]
        fault.anchors = anchors + known.filter { anchor in !anchors.contains { $0.input == anchor.input } }
        return fault
    }

    /// The fault of an input whose log is not the one that was read.
    private func fault(of mismatch: InputMismatch) -> PartitionFault {
        let log = extents?.inputs[mismatch.input] ?? 0..<0
        return PartitionFault(
            .input(mismatch.input), at: mismatch.offset,
            "\(mismatch.input.text): the log has \(mismatch.found) at offset \(mismatch.offset), but another record was handled"
                + " there: the topic was recreated, or lost its end and grew again",
            // A new log is read from its beginning: commands that were answered before are recognized as repeats.
            anchors: [InputPosition(mismatch.input, mismatch.intactUpTo ?? log.lowerBound)])
    }
}

/// How far back a restore must read a partition's journal so that unread repeats find their first answers.
package struct AnswerReach {
    /// The first record late enough that a repeat may ask for it; the journal's end if there is none.
    let offset: Offset
    /// When the first unread command was sent; nil if there is none.
    let firstUnread: Timestamp?

    package init(offset: Offset, firstUnread: Timestamp?) { (self.offset, self.firstUnread) = (offset, firstUnread) }
}
