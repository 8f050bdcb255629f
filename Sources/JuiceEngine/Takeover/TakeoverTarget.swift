import JuiceDomain
import JuiceMessages

/// The progress of one partition's takeover: which part of a changelog is being read, and what was found so far.
final class TakeoverTarget {
    /// What is being read.
    struct Reading {
        let topic: ChangelogTopic
        let start: Offset
        /// Before the start if the log became shorter meanwhile.
        let end: Offset
        /// Whether to stop at the end of what is committed now, even before `end`.
        var endsEarly = false
    }

    let partition: Int32
    var extents: PartitionExtents? {
        didSet { starts = starts ?? extents.map { ($0.results.lowerBound, $0.stock.lowerBound) } }
    }
    /// Where journal and stock began when they were looked at first.
    private var starts: (results: Offset, stock: Offset)?
    private(set) var reading: Reading?
    var tail: JournalTail
    private var tailSpan: Offset = 4_096
    /// Committed records were read up to here.
    private var tailEnd: Offset = 0
    /// The end of the journal that was read, undecided transactions included.
    private(set) var since: Offset = 0
    /// Where this worker's claim stands.
    private(set) var claim: Offset?
    /// The ids of claims that came between reading the journal and this worker's last claim.
    private(set) var between: Set<String> = []
    /// Whether anything but claims was committed since the tail was read.
    private var hasNewRecords = false
    /// How far back repeats may ask for answers; nil if no command is to be answered.
    var reach: AnswerReach?
    private var answerSpan: Offset = 0
    /// Whether the whole journal is to be read, since less of it did not add up.
    private(set) var mustReadAll = false
    private(set) var journalStart: Offset?
    var restore: PartitionRestore?
    private(set) var evidence: InputFingerprints?
    var mismatches: [InputMismatch]
    /// What is wrong with journal or stock, and the state that was found.
    var refused: (state: PartitionState, fault: PartitionFault)?
    /// Positions outside of their logs.
    private var positionFaults: [PartitionFault] = []

    init(_ partition: Int32, mismatches: [InputMismatch]) {
        (self.partition, self.mismatches) = (partition, mismatches)
        tail = JournalTail(partition: partition)
    }

    /// Whether the beginning of journal or stock is not where it was.
    func hasMoved(to extents: PartitionExtents) -> Bool {
        starts.map { $0 != (extents.results.lowerBound, extents.stock.lowerBound) } ?? false
    }

    var results: Range<Offset> { extents?.results ?? 0..<0 }

    /// Whether the claims before this worker's are those that it read before it claimed: it has fenced no others.
    var fencedAllOwners: Bool {
        let first = tail.note?.offset ?? 0
        return (restore?.claims ?? [:]).allSatisfy { $0.key < first || $0.key >= since || tail.names($0.value, at: $0.key) }
    }

    // MARK: - Reading

    /// Where to open the topic that is to be read.
    var opening: ChangelogPosition? {
        reading.map { ChangelogPosition(topic: $0.topic, partition: partition, offset: $0.start) }
    }

    private func read(_ topic: ChangelogTopic, _ range: Range<Offset>) {
        reading = range.isEmpty ? nil : Reading(topic: topic, start: range.lowerBound, end: range.upperBound)
    }

    /// The records of a run that belong to what is being read.
    func wanted(_ run: ArraySlice<ChangelogBatch.Record>) -> ArraySlice<ChangelogBatch.Record> {
        guard let reading, run.first?.topic == reading.topic else { return [] }
        if let last = run.last, last.offset + 1 >= reading.end { finish(at: reading.end) }
        return run.prefix { $0.offset < reading.end }
    }

    /// A topic is read to its current end.
    func reached(_ end: ChangelogPosition) {
        guard let reading, end.topic == reading.topic, reading.endsEarly || end.offset >= reading.end else { return }
        finish(at: min(end.offset, reading.end))
    }

    private func finish(at offset: Offset) {
        if reading?.endsEarly ?? false { tailEnd = offset }
        reading = nil
    }

    // MARK: - Before the claim

    /// Begins to read the journal's end.
    func readTail() {
        tail = JournalTail(partition: partition)
        read(.results, max(results.lowerBound, results.upperBound - tailSpan)..<results.upperBound)
        reading?.endsEarly = true
        if reading == nil { tailEnd = results.upperBound }
    }

    /// Begins again from further back if the last position note is not among what was read.
    func readTailFurther() -> Bool {
        guard tail.note == nil, results.upperBound - tailSpan > results.lowerBound else { return false }
        tailSpan *= 8
        readTail()
        return true
    }

    /// Begins to read the claims that the last position note's writer may not have known, whatever becomes of them.
    func readClaims() {
        since = results.upperBound
        read(.results, (tail.note?.offset ?? results.lowerBound)..<since)
    }

    /// Goes on to restoring as if the claim stood at the journal's end. What only repeats ask for is not read.
    func readUnclaimed() { claim = since }

    // MARK: - After the claim

    /// Begins to read up to the claim.
    func readBetween() {
        (claim, between) = (nil, [])
        reading = Reading(topic: .results, start: max(tailEnd, results.lowerBound), end: results.upperBound)
    }

    func addBetween(_ record: JournalRecord, ids: [String]) {
        let offset = record.offset
        tailEnd = offset + 1
        guard case .claim(let other) = record.note else {
            // Written by a former owner, and decided since the tail was read.
            tail.addCommitted(record)
            return hasNewRecords = true
        }
        tail.addUncommitted(record)
        guard offset >= since else { return }
        // A second process of the same name may have claimed with the same ids.
        if other.ids != ids || claim != nil { between.formUnion(other.ids) }
        if other.ids == ids { claim = offset }
    }

    /// Others claimed in between. The next claim covers all that is known by now.
    func claimAgain() {
        since = results.upperBound
        hasNewRecords = true
    }

    /// Whether no other worker has written to the journal since a state was the last that it says.
    func isUnchanged(since state: PartitionState) -> Bool {
        guard !hasNewRecords, tail.hasClaim(of: state), !state.truncated.contains(.results),
            tail.records == state.committed.records
        else { return false }
        return tail.positions.all.allSatisfy { state.committed.positions[$0.input] == $0.offset }
    }

    // MARK: - Restoring

    /// Begins to read the whole stock.
    func readStock(into restore: PartitionRestore) {
        self.restore = restore
        read(.stock, restore.extents.stock)
    }

    /// Begins to read the journal from where repeats may ask for answers, and from before the changes that the stock may lack.
    func readJournal(_ context: WorkerContext, for purpose: Takeover.Purpose) {
        guard let claim, restore != nil else { return }
        // A window that is full by count has large transactions, which leave few markers between the records.
        if answerSpan == 0 { answerSpan = Offset(context.settings.window.count) + Offset(context.settings.window.count / 4) + 1 }
        // All of the stock from before the last note but one is written.
        let needed = tail.note.map { $0.position.account?.before ?? $0.offset } ?? results.lowerBound
        let isCut = reach != nil && tail.note?.position.account?.oldest ?? .max < results.lowerBound
        let asked = purpose == .work ? reach.map { max($0.offset, claim - answerSpan) } : nil
        let readsAll = isCut || mustReadAll || purpose == .anchor(isCopy: true)
        let latest = readsAll ? results.lowerBound : min(needed, asked ?? claim)
        let start = max(results.lowerBound, latest)
        journalStart = start
        restore?.beginJournal(at: start, lastNote: tail.note?.offset ?? 0, duplicates: context.newMemory)
        read(.results, start..<claim)
    }

    /// Begins again from further back if there were too few answers: markers and aborted records take offsets, too.
    func readJournalFurther(_ context: WorkerContext) -> Bool {
        guard let restore, let start = journalStart, let reach, start > max(reach.offset, results.lowerBound),
            restore.applied.duplicates.count < context.settings.window.count
        else { return false }
        answerSpan *= 2
        readJournal(context, for: .work)
        return reading != nil
    }

    /// Begins to count the records between the first note that was read and the note before it, if that was not read.
    func readHead() {
        if let head = restore?.unreadHead { read(.results, head) }
    }

    /// Closes the account of what was read, and returns that once; nil if nothing was.
    func closedRestore() -> PartitionRestore? {
        guard var restore else { return nil }
        self.restore = nil
        restore.close(reach)
        mustReadAll = restore.needsAll
        return restore
    }

    // MARK: - Another log

    /// Compares a state's positions with the logs, and says what to read again to compare what was answered.
    func examine(_ state: PartitionState) {
        guard let extents else { return }
        let evidence = state.applied.evidence.latest(in: extents)
        self.evidence = evidence
        positionFaults = state.positions.compactMap { Self.fault(of: $0, in: extents, evidence) }
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

/// How far back a restore must read a partition's journal, so that repeats which are not read yet find their first answers.
package struct AnswerReach {
    /// The first record that was written late enough; the journal's end if none was.
    let offset: Offset
    /// When the first unread command was sent; nil if there is none.
    let firstUnread: Timestamp?

    package init(offset: Offset, firstUnread: Timestamp?) { (self.offset, self.firstUnread) = (offset, firstUnread) }
}

/// What the end of a partition's journal says up to this worker's claim: where to restore from, the positions of the inputs, and
/// whose transactions may still be open.
struct JournalTail {
    /// The last claim that is committed.
    struct LastClaim {
        let offset: Offset
        let ids: [String]
        let group: String
        let instance: String

        init(_ claim: JournalClaim, at offset: Offset) {
            (self.offset, ids, group, instance) = (offset, claim.ids, claim.group, claim.instance)
        }

        /// The claim of a position note's writer, by its transactional ids: `GROUP/INSTANCE/WORKER/SET/INDEX`.
        init(of note: JournalPosition) {
            (offset, ids) = (note.claim, note.ids)
            let parts = (ids.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
            group = parts.dropLast(4).joined(separator: "/")
            instance = parts.dropLast(3).last.map(String.init) ?? ""
        }
    }

    /// The last position note.
    private(set) var note: (offset: Offset, position: JournalPosition)?
    /// How many records the journal has handled, as far as it was read.
    private(set) var records: Int64 = 0
    /// The next offset of each input, as far as the journal was read.
    private(set) var positions: InputPositions
    private(set) var lastClaim: LastClaim?
    /// The last record that was handled of each input, and when, for people.
    private(set) var lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)] = [:]
    /// Whatever was named before this offset was fenced by the writer of a later claim.
    private var fencedUpTo: Offset = 0
    /// The transactional ids that claims and position notes name.
    private var namings: [(offset: Offset, ids: [String])] = []

    init(partition: Int32) { positions = InputPositions(home: partition) }

    /// When the last record was handled.
    var handledAt: Timestamp? { lastHandled.values.compactMap(\.at).max() }

    /// Whether the last claim is the one that a state belongs to. In a journal that was recreated, another one may stand there.
    func hasClaim(of state: PartitionState) -> Bool { lastClaim.map { ($0.offset, $0.ids) == (state.claim, state.ids) } ?? false }

    /// Adds a committed record.
    mutating func addCommitted(_ record: JournalRecord) {
        let offset = record.offset
        positions.apply(record)
        if let place = record.handled {
            lastHandled[place.input] = (place.offset, record.timestamp)
            records += 1
        }
        switch record.content {
        case .note(.position(let note)):
            (self.note, records) = ((offset, note), note.account?.records ?? records)
            if lastClaim.map({ $0.offset < note.claim }) ?? true { lastClaim = LastClaim(of: note) }
            namings.append((offset, note.ids))
        case .note(.claim(let claim)):
            // A claim that was on its way while the journal was recreated may have read another one.
            if Set(lastClaim?.ids ?? []).isSubset(of: claim.fenced) { fencedUpTo = max(fencedUpTo, min(claim.since, offset)) }
            lastClaim = LastClaim(claim, at: offset)
        default: break
        }
    }

    /// Adds who wrote a record, whatever becomes of it: its writer may still commit others.
    mutating func addUncommitted(_ record: JournalRecord) {
        switch record.content {
        case .note(.claim(let claim)): namings.append((record.offset, claim.ids))
        case .note(.position(let note)): namings.append((record.offset, note.ids))
        default: break
        }
    }

    /// Whether a claim with these ids stands there.
    func names(_ ids: [String], at offset: Offset) -> Bool { namings.contains { $0 == (offset, ids) } }

    /// The ids under which somebody may still write. Whoever wrote the last position note had fenced all that was named before,
    /// but for itself.
    var suspects: Set<String> {
        let first = max(fencedUpTo, note?.offset ?? 0)
        return Set(namings.lazy.filter { $0.offset >= first }.flatMap(\.ids))
    }
}
