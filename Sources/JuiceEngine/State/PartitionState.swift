import JuiceDomain
import JuiceMessages

/// A worker's state of one partition that holds stores, and how much of it is committed.
package final class PartitionState {
    let partition: Int32
    package var applied: StateStore
    /// The progress without the open transaction.
    private(set) var committed: JournalProgress
    /// The offset of this worker's claim in the journal, and its transactional ids.
    private(set) var claim: Offset = 0
    private(set) var ids: [String] = []
    /// The end of the journal and the extent of the stock that were seen last.
    private(set) var seenResults: Offset = 0
    private var seenStock: Range<Offset> = 0..<0
    /// The end of the stock that this worker accounts for, and how many offsets its commits have used beyond, markers included.
    /// `due` of them must be there at the next check: those of records, and the markers that the last check waited for.
    private var ownStock: (end: Offset, offsets: Offset, due: Offset) = (0, 0, 0)
    /// The end of this worker's records in the journal, and whether markers follow them: some versions of the embedded broker write
    /// none.
    private var journalEnd: Offset = 0
    private var hasMarkers = false
    private var stockRewrittenAt = Timestamp.min / 2
    /// Whether the loss of answers that repeats may ask for was reported.
    private var lacksAnswers = false
    /// Changelogs that have lost records which this process wrote or saw.
    private(set) var truncated: Set<ChangelogTopic> = []
    private var notedAt = Timestamp.min / 2
    /// The offset of the journal's last position note, and whether the open transaction has another.
    private var lastNote: Offset?
    private var isNoting = false
    private var stockWrittenAt = Timestamp.min / 2
    /// How many stores must be written and committed before the next position note: a note says that the stock has all changes from
    /// before the previous note.
    private var owedStores = 0

    /// A restored state, under this worker's claim.
    ///
    /// - Parameter lastNote: the offset of the journal's last position note.
    init(_ applied: StateStore, claim: Offset, ids: [String], lastNote: Offset?, _ extents: PartitionExtents) {
        (partition, self.applied, committed) = (extents.partition, applied, applied.progress)
        (seenStock, ownStock) = (extents.stock, (extents.stock.upperBound, 0, 0))
        _ = resume(claim: claim, ids: ids, lastNote: lastNote, extents)
    }

    /// Goes on under a new claim. No other worker has written to the journal meanwhile.
    ///
    /// - Returns: whether the stock topic has lost records, so that all of it must be written again.
    func resume(claim: Offset, ids: [String], lastNote: Offset?, _ extents: PartitionExtents) -> Bool {
        (self.claim, self.ids, self.lastNote) = (claim, ids, lastNote ?? self.lastNote)
        journalEnd = claim + 1
        let hasLostStock = truncated.remove(.stock) != nil || extents.stock.lowerBound > seenStock.lowerBound
        if hasLostStock { applied.stores.rewriteAll() }
        owedStores = applied.stores.unwritten.count
        see(extents)
        seenStock = extents.stock
        // Makes a note due, so that the next owner need not read far.
        applied.progress.recordsSinceNote = JournalProgress.recordsPerNote
        (committed, notedAt) = (applied.progress, .min / 2)
        return hasLostStock
    }

    /// Notices if journal or stock have become shorter.
    func compare(_ extents: PartitionExtents) {
        truncated.formUnion(extents.truncated)
        if extents.results.upperBound < seenResults { truncated.insert(.results) }
        if extents.stock.upperBound < seenStock.upperBound { truncated.insert(.stock) }
    }

    /// The shortest time between two repairs of the stock, in milliseconds: another program may write to it all the time.
    private static let rewriteInterval: Timestamp = 180_000

    /// The part of the stock to look at, if it is longer than this worker's records and a marker for each transaction explain. A
    /// coordinator that has moved may write a marker again.
    func unexplainedStock(in extents: PartitionExtents) -> Range<Offset>? {
        let (log, end) = (extents.stock, ownStock.end)
        return log.upperBound > end + ownStock.offsets ? max(log.lowerBound, end)..<log.upperBound : nil
    }

    /// Marks the whole stock to be written again from memory if its beginning or its end is gone, or another program wrote to it.
    ///
    /// - Parameter isForeign: whether another program's record is the last of a store.
    /// - Returns: whether it will be written.
    func repairStock(in extents: PartitionExtents, isForeign: Bool, at now: Timestamp) -> Bool {
        let end = extents.stock.upperBound
        // Even if it was seen no longer than it is: a recreated topic still gets the marker of the lost records.
        let isShort = end < ownStock.end + ownStock.due
        if !isForeign, !isShort {
            let coming = min(ownStock.offsets, max(0, ownStock.end + ownStock.offsets - end))
            ownStock = (end, coming, hasMarkers ? coming : 0)
        }
        // Compaction leaves the beginning where it is.
        let isHarmed = isForeign || isShort || extents.stock.lowerBound > seenStock.lowerBound
        guard isHarmed, now - stockRewrittenAt >= Self.rewriteInterval else { return false }
        applied.stores.rewriteAll()
        (owedStores, stockRewrittenAt) = (applied.stores.unwritten.count, now)
        (seenStock, ownStock) = (extents.stock, (end, 0, 0))
        return true
    }

    /// Whether a stock record has what this worker wrote, or its store is about to be written anyway.
    func explains(_ record: ChangelogBatch.Record, by reader: StockRestorer) -> Bool {
        guard let key = record.key, let value = record.value, let written = try? reader.restore(value, key: key) else {
            return false
        }
        return applied.stores.isUnwritten(key) || applied.stores.state(of: written.store) == (written.levels, written.revision)
    }

    /// Until when repeats may ask for answers that were deleted from the journal, if that has not been reported. Until then only
    /// this worker knows which commands they answered.
    func missesAnswers(in extents: PartitionExtents, at now: Timestamp, retention: Timestamp) -> Timestamp? {
        let needed = AnswerRestoreTime.start(now: now, handledAt: committed.handledAt, firstUnread: nil, retention: retention)
        let isLacking = applied.duplicates.oldest(since: needed).map { $0 < extents.results.lowerBound } ?? false
        defer { lacksAnswers = isLacking }
        guard isLacking, !lacksAnswers else { return nil }
        return (applied.duplicates.lastTime(before: extents.results.lowerBound) ?? now) + retention
    }

    /// Remembers the ends of journal and stock.
    func see(_ extents: PartitionExtents) {
        (seenResults, seenStock) = (extents.results.upperBound, seenStock.lowerBound..<extents.stock.upperBound)
        // Without a position note, a successor would conclude that the journal has lost records.
        if lastNote ?? .max < extents.results.lowerBound { notedAt = .min / 2 }
    }

    /// The next record to read of each input.
    var positions: [InputPosition] { applied.progress.positions.all }

    /// The offsets to commit for the group.
    ///
    /// - Parameter ends: the ends of inputs that were read to their ends.
    func groupOffsets(passing ends: [InputPartition: Offset] = [:]) -> [InputPartition: GroupOffset] {
        let mark = JournalMark(claim: claim, records: committed.records)
        return applied.progress.positions.byPartition.reduce(into: [:]) { offsets, position in
            offsets[position.key] = GroupOffset(offset: max(position.value, ends[position.key] ?? 0), mark: mark)
        }
    }

    // MARK: - Position notes and stock

    /// The position note, if one is due.
    ///
    /// It says what is committed, so it comes first in its transaction. That transaction also writes all stock that changed before.
    ///
    /// - Parameters:
    ///   - now: the time of day.
    ///   - uptime: see ``KafkaReadPort/uptime``.
    ///   - firstUnread: the earliest time of the next commands; nil if there are none.
    func dueNote(at now: Timestamp, _ uptime: Timestamp, _ settings: WorkerSettings, firstUnread: Timestamp?) -> JournalNote? {
        let isDue =
            applied.progress.recordsSinceNote >= JournalProgress.recordsPerNote || isNoteOld(at: uptime, settings.noteInterval)
        guard owedStores == 0, applied.stores.unwritten.count <= StoreTable.mostWritten, isDue else { return nil }
        return note(
            of: JournalAccount(
                before: lastNote, records: committed.records, changes: applied.stores.changes,
                oldest: applied.duplicates.oldest(
                    since: AnswerRestoreTime.start(
                        now: now, handledAt: committed.handledAt, firstUnread: firstUnread, retention: settings.window.retention)),
                menu: settings.menuDigest))
    }

    /// A position note with this account and the applied progress.
    func note(of account: JournalAccount) -> JournalNote {
        let progress = applied.progress
        return .position(
            JournalPosition(
                next: progress.positions.ofStorePartition, added: progress.positions.added, claim: claim, ids: ids,
                forwarded: progress.forwards.last, account: account, last: progress.last.byPartition))
    }

    /// Whether the last note may expire before another one is due.
    func isNoteOld(at uptime: Timestamp, _ interval: Timestamp) -> Bool { uptime - notedAt >= interval }

    func noted(at uptime: Timestamp) {
        (applied.progress.recordsSinceNote, applied.journalled, notedAt, isNoting) = (0, 1, uptime, true)
    }

    /// How long changes of the stock may wait to be written, in milliseconds, while commands keep coming.
    private static let stockInterval: Timestamp = 250

    /// Whether to write the changes that the stock topic lacks, even if no note is due.
    func isStockDue(at uptime: Timestamp) -> Bool { owedStores > 0 || uptime - stockWrittenAt >= Self.stockInterval }

    func wroteStock(at uptime: Timestamp) { stockWrittenAt = uptime }

    // MARK: - The end of a transaction

    /// - Parameter records: the offsets of the transaction's records in the journal.
    /// - Throws: ``LogError`` if some offsets are unknown. Then only the journal shows the offset of each answer.
    func commit(_ records: [Range<Offset>]) throws(LogError) {
        let known = records.reduce(0) { $0 + $1.count }
        guard known == applied.journalled else {
            throw LogError(
                .startOver,
                "results [\(partition)]: brokers said of only \(known) of \(applied.journalled) records where they stand")
        }
        owedStores -= min(owedStores, applied.stores.writing)
        // The records and their marker.
        if applied.stores.writing > 0 {
            ownStock.offsets += Offset(applied.stores.writing) + 1
            ownStock.due += Offset(applied.stores.writing)
        }
        if let first = records.first, let last = records.last {
            hasMarkers = hasMarkers || first.lowerBound > journalEnd
            journalEnd = last.upperBound
        }
        applied.stores.commit()
        applied.duplicates.commit(records)
        if isNoting, let note = records.first?.lowerBound {
            lastNote = note
            applied.progress.forwards.note(committed.forwards.last, at: note)
        }
        committed = applied.progress
        if applied.journalled > 0 { applied.isTimeRefused = false }
        (applied.journalled, isNoting) = (0, false)
    }

    /// Reverts everything since the last commit. How much stock was written is not known: the next check reads what is there.
    func undo() {
        applied.stores.undo()
        applied.duplicates.undo()
        applied.evidence.undo(to: committed.positions)
        (applied.progress, applied.journalled, isNoting) = (committed, 0, false)
    }
}

/// Partition states, found by number and iterated in that order.
package struct PartitionTable: Sequence {
    private var slots: [PartitionState?] = []

    init(_ states: [PartitionState] = []) {
        for state in states { self[state.partition] = state }
    }

    subscript(partition: Int32) -> PartitionState? {
        get { slots.indices.contains(Int(partition)) ? slots[Int(partition)] : nil }
        set {
            let missing = Int(partition) + 1 - slots.count
            if missing > 0 { slots.append(contentsOf: repeatElement(nil, count: missing)) }
            slots[Int(partition)] = newValue
        }
    }

    package func makeIterator() -> some IteratorProtocol<PartitionState> { slots.lazy.compactMap { $0 }.makeIterator() }
}
