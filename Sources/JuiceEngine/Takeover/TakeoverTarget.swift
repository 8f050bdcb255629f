import JuiceDomain
import JuiceMessages

/// The progress of one partition's takeover: what was found so far, and which part of a changelog is to be read next.
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
    /// The end of the journal that was read, undecided transactions included.
    private(set) var since: Offset = 0
    /// The offset of this worker's claim.
    private(set) var claim: Offset?
    /// The ids of claims that came between reading the journal and this worker's last claim.
    private(set) var between: Set<String> = []
    /// Whether anything but claims was committed since the tail was read.
    private var hasNewRecords = false
    /// How far back repeats may ask for answers; nil if no command is to be answered.
    var reach: AnswerReach?
    var restore: PartitionRestore?
    /// What is wrong with journal or stock, and the state that was found.
    var refused: (state: PartitionState, fault: PartitionFault)?
    /// What to compare the inputs with, and what differs.
    private(set) var evidence: InputFingerprints?
    private(set) var mismatches: [InputMismatch]
    /// Positions outside of their logs.
    private var positionFaults: [PartitionFault] = []

    init(_ partition: Int32, mismatches: [InputMismatch]) {
        (self.partition, self.mismatches) = (partition, mismatches)
        tail = JournalTail(partition: partition, from: 0)
    }

    /// Whether the beginning of journal or stock is not where it was at first.
    func hasMoved(to extents: PartitionExtents) -> Bool {
        guard let first = firstExtents else { return false }
        return (first.results.lowerBound, first.stock.lowerBound) != (extents.results.lowerBound, extents.stock.lowerBound)
    }

    var results: Range<Offset> { extents?.results ?? 0..<0 }

    /// Whether answers are gone that repeats could still ask for when the last position note was written.
    var isCut: Bool { tail.note?.position.account?.oldest ?? .max < results.lowerBound }

    private func part(_ topic: ChangelogTopic, _ offsets: Range<Offset>, endsEarly: Bool = false) -> ChangelogReading.Part {
        ChangelogReading.Part(topic: topic, partition: partition, offsets: offsets, endsEarly: endsEarly)
    }

    // MARK: - Before the claim

    /// The journal's end, from further back each time, until the last position note is among it; nil if it is.
    func nextTail() -> ChangelogReading.Part? {
        guard tail.note == nil, tail.start > results.lowerBound else { return nil }
        let span = max(4_096, (results.upperBound - tail.start) * 8)
        tail = JournalTail(partition: partition, from: max(results.lowerBound, results.upperBound - span))
        return part(.results, tail.start..<results.upperBound, endsEarly: true)
    }

    /// The claims that the last position note's writer may not have known, whatever becomes of them.
    func claimsToRead() -> ChangelogReading.Part {
        since = results.upperBound
        return part(.results, (tail.note?.offset ?? results.lowerBound)..<since)
    }

    func add(_ record: JournalRecord, isCommitted: Bool) { tail.add(record, isCommitted: isCommitted) }

    /// Goes on to restoring as if the claim stood at the journal's end.
    func skipClaim() { claim = since }

    // MARK: - After the claim

    /// What follows the tail, up to the claim and beyond.
    func betweenToRead() -> ChangelogReading.Part {
        (claim, between) = (nil, [])
        let start = max(tail.end, results.lowerBound)
        return part(.results, start..<max(start, results.upperBound))
    }

    func addBetween(_ record: JournalRecord, ids: [String]) {
        guard case .claim(let other) = record.note else {
            // Written by a former owner, and decided since the tail was read.
            tail.add(record, isCommitted: true)
            return hasNewRecords = true
        }
        // This worker's own claim does not end what the tail says of the former owner.
        tail.add(record, isCommitted: other.ids != ids)
        guard record.offset >= since else { return }
        // A second process of the same name may have claimed with the same ids.
        if other.ids != ids || claim != nil { between.formUnion(other.ids) }
        if other.ids == ids { claim = record.offset }
    }

    /// Others claimed in between. The next claim covers all that is known by now.
    func claimAgain() {
        since = results.upperBound
        hasNewRecords = true
    }

    /// Whether no other worker has written to the journal since a state was the last that it says.
    func isUnchanged(since state: PartitionState) -> Bool {
        // In a journal that was recreated, another claim may stand there.
        let isLastOwner = tail.owners.lastClaim.map { ($0.offset, $0.ids) == (state.claim, state.ids) } ?? false
        return !hasNewRecords && isLastOwner && !state.truncated.contains(.results)
            && tail.progress.records == state.committed.records
            && tail.positions.all.allSatisfy { state.committed.positions[$0.input] == $0.offset }
    }

    // MARK: - Restoring

    /// Whether the claims before this worker's are those that it read before it claimed: it has fenced no others.
    var fencedAllOwners: Bool {
        let first = tail.note?.offset ?? 0
        return (restore?.owners.claims ?? [:]).allSatisfy {
            $0.key < first || $0.key >= since || tail.owners.claims[$0.key] == $0.value
        }
    }

    /// The journal from where repeats may ask for answers, and from before the changes that the stock may lack; once it was read,
    /// from further back if that said too little, and else nil.
    func nextJournal(_ window: DuplicateWindow, for purpose: Takeover.Purpose) -> ChangelogReading.Part? {
        guard let claim, let restore else { return nil }
        // All of the stock from before the last note but one is written.
        let noted = tail.note.map { $0.position.account?.before ?? $0.offset } ?? results.lowerBound
        // A window that is full by count has large transactions, which leave few markers between the records.
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

    /// How far to read beyond what is needed: a position note usually lies within this distance, so that all needed records count.
    private static let noteDistance: Offset = 4_096

    // MARK: - Another log

    /// Compares a state's positions with the logs, and says what to read again to compare what was answered.
    func examine(_ state: PartitionState) {
        guard let extents else { return }
        let evidence = state.applied.evidence.latest(in: extents)
        self.evidence = evidence
        positionFaults = state.positions.compactMap { Self.fault(of: $0, in: extents, evidence) }
    }

    /// Compares what was answered with what the inputs have there now, unless that is known to differ.
    func compare(with records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) {
        guard mismatches.isEmpty else { return }
        mismatches = evidence?.mismatches(with: records, damaged: damaged, by: reader) ?? []
    }

    /// The fault of a position outside of its log. If what is left of the log is what was answered, the rest of it was lost. Else
    /// it is a new log, to be read from its beginning.
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

    /// Why the partition must not be read on; nil if nothing is wrong with it.
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

    /// The fault of an input that is another log than the one that was read.
    private func fault(of mismatch: InputMismatch) -> PartitionFault {
        let log = extents?.inputs[mismatch.input] ?? 0..<0
        return PartitionFault(
            .input(mismatch.input), at: mismatch.offset,
            "\(mismatch.input.text): the log has \(mismatch.found) at offset \(mismatch.offset), but another record was handled"
                + " there: the topic was recreated, or lost its end and grew again",
            // A new log is read from its beginning: what was answered of it is known, and not made again.
            anchors: [InputPosition(mismatch.input, mismatch.intactUpTo ?? log.lowerBound)])
    }
}

/// What the end of a partition's journal says up to this worker's claim: where to restore from, the positions of the inputs, and
/// whose transactions may still be open.
struct JournalTail {
    /// Where it begins, and where what was read of it ends.
    let start: Offset
    private(set) var end: Offset
    /// The last position note.
    private(set) var note: (offset: Offset, position: JournalPosition)?
    /// How far the inputs are handled, as far as the journal was read.
    private(set) var progress: JournalProgress
    private(set) var owners = JournalOwners()
    /// The last claim, if its writer had commands to read, and none was handled since.
    private(set) var attempt: JournalClaim?
    /// The last record that was handled of each input, and when, for people.
    private(set) var lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)] = [:]

    init(partition: Int32, from start: Offset) {
        (self.start, end, progress) = (start, start, JournalProgress(storePartition: partition))
    }

    var positions: InputPositions { progress.positions }

    mutating func add(_ record: JournalRecord, isCommitted: Bool) {
        owners.add(record, isCommitted: isCommitted)
        guard isCommitted else { return }
        end = record.offset + 1
        progress.restore(record)
        switch record.note {
        case .claim(let claim): attempt = claim.attempt > 0 ? claim : nil
        case .anchored: attempt = nil
        case .position(let note): self.note = (record.offset, note)
        default:
            guard let place = record.handled else { break }
            (attempt, lastHandled[place.input]) = (nil, (place.offset, record.timestamp))
        }
    }
}

/// How far back a restore must read a partition's journal, so that repeats which are not read yet find their first answers.
package struct AnswerReach {
    /// The first record that was written late enough; the journal's end if none was.
    let offset: Offset
    /// When the first unread command was sent; nil if there is none.
    let firstUnread: Timestamp?

    package init(offset: Offset, firstUnread: Timestamp?) { (self.offset, self.firstUnread) = (offset, firstUnread) }
}
