import JuiceDomain
import JuiceMessages

/// The progress of one partition's takeover: which part of a changelog is being read, and what was found so far.
final class TakeoverTarget {
    /// What is being read.
    struct Reading {
        let topic: ChangelogTopic
        let start: Offset
        let end: Offset
        /// Whether to stop at the end of what is committed now, even before `end`.
        var endsEarly = false
    }

    let partition: Int32
    var extents: PartitionExtents?
    private(set) var reading: Reading?
    var tail: JournalTail
    private var tailSpan: Offset = 4_096
    /// Committed records were read up to here, before the claim.
    private var tailEnd: Offset = 0
    /// The end of the journal that was read, undecided transactions included.
    private(set) var since: Offset = 0
    /// Where this worker's claim stands.
    private(set) var claim: Offset?
    /// The ids of claims that came between reading the journal and this worker's claim.
    private(set) var between: Set<String> = []
    private var allBetween: Set<String> = []
    /// Whether anything but claims was committed since the tail was read.
    private var hasNews = false
    var answerStart: Offset = 0
    private var answerSpan: Offset = 0
    /// Whether all of the journal is to be read, since the stock topic has lost records.
    private var needsAllAnswers = false
    private(set) var journalStart: Offset?
    var restore: PartitionRestore?
    var evidence: LogEvidence?
    var mismatch: InputMismatch?
    /// A position outside of its log.
    private var positionFault: PartitionFault?
    private var answeredThere: String?

    init(_ partition: Int32, mismatch: InputMismatch?) {
        (self.partition, self.mismatch) = (partition, mismatch)
        tail = JournalTail(partition: partition)
    }

    var results: Range<Offset> { extents?.results ?? 0..<0 }

    /// Where to open the topic that is to be read.
    var opening: ChangelogPosition? {
        reading.map { ChangelogPosition(topic: $0.topic, partition: partition, offset: $0.start) }
    }

    /// The ids under which somebody may still write.
    var suspects: Set<String> { tail.suspects.union(allBetween) }

    // MARK: - What was read

    /// The records of a run that belong to what is being read.
    func wanted(_ run: ArraySlice<ChangelogBatch.Record>) -> ArraySlice<ChangelogBatch.Record> {
        guard let reading, run.first?.topic == reading.topic else { return [] }
        let wanted = run.prefix { $0.offset < reading.end }
        if let last = run.last, last.offset + 1 >= reading.end { finish(at: reading.end) }
        return wanted
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

    private func read(_ topic: ChangelogTopic, _ range: Range<Offset>) {
        reading = range.isEmpty ? nil : Reading(topic: topic, start: range.lowerBound, end: range.upperBound)
    }

    // MARK: - Before the claim

    /// Begins to read the journal's end.
    func readTail() {
        let start = max(results.lowerBound, results.upperBound - tailSpan)
        tail = JournalTail(partition: partition)
        read(.results, start..<results.upperBound)
        reading?.endsEarly = true
        if reading == nil { tailEnd = results.upperBound }
    }

    /// Begins again from further back if the last two position notes are not among what was read.
    func readTailFurther() -> Bool {
        guard tail.notes.count < 2, results.upperBound - tailSpan > results.lowerBound else { return false }
        tailSpan *= 8
        readTail()
        return true
    }

    /// Begins to read the claims that the last position note's writer may not have known, whatever becomes of them.
    func readClaims() {
        since = results.upperBound
        read(.results, (tail.lastNote ?? results.lowerBound)..<since)
    }

    // MARK: - After the claim

    /// Begins to read up to the claim.
    func readBetween() {
        (claim, between) = (nil, [])
        reading = Reading(topic: .results, start: max(tailEnd, results.lowerBound), end: results.upperBound)
    }

    func addBetween(_ entry: JournalEntry, at offset: Offset, ids: [String]) {
        guard case .note(.claim(let other)) = entry else {
            hasNews = true
            return
        }
        guard offset >= since else { return }
        // A second process of the same name may have claimed with the same ids.
        if other.ids != ids || claim != nil { between.formUnion(other.ids) }
        if other.ids == ids { claim = offset }
    }

    /// Others claimed in between. The next claim covers all that is known by now.
    func claimAgain() {
        since = results.upperBound
        allBetween.formUnion(between)
        hasNews = true
    }

    /// Whether nobody has written to the journal since a state was the last that it says.
    func isUnchanged(since state: PartitionState) -> Bool {
        guard !hasNews, tail.hasClaim(of: state), !state.rewound.contains(.results) else { return false }
        return tail.positions.all.allSatisfy { state.committed[$0.key] == $0.value }
    }

    // MARK: - Restoring

    /// Begins to read the whole stock.
    func readStock() { read(.stock, extents?.stock ?? 0..<0) }

    /// Begins to read the journal from where repeats may ask for answers, and from before the last changes that the stock may
    /// lack.
    func readJournal(_ context: WorkerContext) {
        guard let claim else { return }
        // A window that is full by count has large transactions, which leave few markers between the records.
        if answerSpan == 0 { answerSpan = Offset(context.settings.window.count) + Offset(context.settings.window.count / 4) + 1 }
        let needed = tail.notes.count == 2 ? tail.notes[0] : results.lowerBound
        let latest = needsAllAnswers ? results.lowerBound : min(needed, max(answerStart, claim - answerSpan))
        let start = max(results.lowerBound, latest)
        journalStart = start
        restore?.beginJournal(at: start, duplicates: context.newMemory)
        read(.results, start..<claim)
    }

    /// Begins again from further back if there were too few answers: markers and aborted records take offsets, too.
    func readJournalFurther(_ context: WorkerContext) -> Bool {
        guard let restore, let start = journalStart, start > max(answerStart, results.lowerBound),
            restore.applied.duplicates.count < context.settings.window.count
        else { return false }
        answerSpan *= 2
        readJournal(context)
        return reading != nil
    }

    /// Restores anew from all answers, if the stock topic has lost records that they may make good.
    func mustRestoreFromAnswers() -> Bool {
        guard let restore, restore.hasLostStock, !needsAllAnswers, journalStart ?? 0 > results.lowerBound else { return false }
        needsAllAnswers = true
        return true
    }

    func restore(
        _ entry: JournalEntry, _ record: ChangelogBatch.Record, _ value: UnsafeRawBufferPointer, by reader: JournalReader,
        now: Timestamp
    ) {
        switch entry {
        case .answer(let answer): restore?.apply(answer, record, value, by: reader, now: now)
        case .note(let note): restore?.apply(note, at: record.offset)
        case .unknown(let place?): restore?.applyUnknown(place)
        case .unknown(nil): break
        }
    }

    // MARK: - Another log

    /// Compares a state's positions with the logs, and says what to read again to compare what was answered.
    func examine(_ state: PartitionState) {
        guard let extents else { return }
        evidence = LogEvidence(of: state, in: extents)
        positionFault = state.positions.lazy.compactMap { Self.fault(of: $0, in: extents) }.first
    }

    private static func fault(of position: InputPosition, in extents: PartitionExtents) -> PartitionFault? {
        let input = position.input
        guard let log = extents.inputs[input], position.offset < log.lowerBound || position.offset > log.upperBound else {
            return nil
        }
        let reason =
            position.offset < log.lowerBound
            ? "offsets \(position.offset) to \(log.lowerBound - 1) expired before they were read"
            : "the next offset to read is \(position.offset), but the log ends at \(log.upperBound): the topic was made anew, or"
                + " lost its end"
        return PartitionFault(.input(input), at: position.offset, "\(input.text): \(reason)")
    }

    /// A position outside of its log, with where to go on: if what is left of the log is what was answered, the rest of it was
    /// lost, and else it is a new log, to be read from its beginning.
    var explainedPositionFault: PartitionFault? {
        guard let positionFault, case .input(let input) = positionFault.kind, let log = extents?.inputs[input] else {
            return positionFault
        }
        let isSameLog =
            evidence?.ranges[input] != nil && positionFault.offset.map { $0 > log.upperBound } ?? false
        return positionFault.anchored(
            at: [InputPosition(input, isSameLog ? log.upperBound : log.lowerBound)])
    }

    /// Begins to look for the answer at a place where an input now holds something else.
    func readExplanation() {
        guard mismatch != nil, let claim else { return }
        read(.results, (journalStart ?? tail.notes.first ?? results.lowerBound)..<claim)
    }

    func explain(_ entry: JournalEntry) {
        guard let mismatch else { return }
        switch entry {
        case .answer(let answer) where answer.head.offset == mismatch.offset:
            guard (answer.head.command == .restock) == (mismatch.input.topic == .restocks) else { return }
            answeredThere = ReceivedCommand.text(answer.head)
        case .note(.forwarded(let place, let owner)) where place == mismatch.place:
            answeredThere = AnsweredCommands.Content.forwarded(to: owner).text
        case .note(.deadLetter(let place, _)) where place == mismatch.place: answeredThere = AnsweredCommands.Content.noCommand.text
        default: break
        }
    }

    /// The fault of a partition whose input is another log than the one that was read.
    var mismatchFault: PartitionFault? {
        guard let mismatch else { return nil }
        let log = extents?.inputs[mismatch.input] ?? 0..<0
        return PartitionFault(
            .input(mismatch.input), at: mismatch.offset,
            "\(mismatch.input.text): the answer to offset \(mismatch.offset) is about \(answeredThere ?? "another command"), but"
                + " the log has \(mismatch.found) there: the topic was made anew, or lost its end and grew again"
        ).anchored(
            // A new log is read from its beginning: what was answered of it is known, and not made again.
            at: [InputPosition(mismatch.input, mismatch.intactUpTo ?? log.lowerBound)])
    }
}
