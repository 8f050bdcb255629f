import JuiceMessages

/// Counts what a journal holds while it is read, and compares that with the accounts in its position notes: see "How much there
/// must be" in docs/JOURNAL.md.
struct AccountCheck {
    /// What is wrong with a journal, and how many records or changes are missing; at least one.
    typealias Gap = (reason: String, missing: Int64)

    private static let causes = ": the results were compacted or recreated, or lost a part. Commands may be carried out twice"

    private let logStart: Offset
    private let start: Offset
    private let needed: Offset
    private var notes: Set<Offset> = []
    /// How many records were handled up to here; nil while that is unknown.
    private var records: Int64?
    /// All changes of stores up to here; nil while they are unknown.
    private(set) var changes: StockChanges?
    /// The last note, and when it was written.
    private(set) var last: (offset: Offset, account: JournalAccount, at: Timestamp?)?
    /// The note from which to read again, because the needed records before the first note could not be counted.
    private(set) var uncounted: Offset?

    /// - Parameters:
    ///   - log: where the journal begins and ends.
    ///   - start: where it is read from.
    ///   - needed: the first offset whose record must not be missing.
    init(_ log: Range<Offset>, from start: Offset, needing needed: Offset) {
        (logStart, self.start, self.needed) = (log.lowerBound, start, needed)
        if start == 0 { (records, changes) = (0, StockChanges()) }
    }

    /// Counts a handled record of an input.
    mutating func handled() { records? += 1 }

    /// Counts an answer that changed a store.
    mutating func changed(storeOfWeight weight: UInt64) { changes?.add(ofWeight: weight) }

    /// Adds a position note.
    ///
    /// - Returns: what is wrong with the journal before it; nil if nothing is.
    mutating func add(_ note: JournalPosition, at offset: Offset, _ time: Timestamp?) -> Gap? {
        guard let account = note.account else {
            return ("the position note at offset \(offset) does not say how much there must be", 1)
        }
        let former = (records: records, changes: changes, offset: last?.offset)
        defer {
            (records, changes, last) = (account.records, account.changes, (offset, account, time))
            notes.insert(offset)
        }
        // The account begins here: at the journal's first note, or where an operator has accepted what was there.
        guard let before = account.before else {
            uncounted = nil
            return nil
        }
        let place = former.offset.map { "between the position notes at offsets \($0) and \(offset)" } ?? "up to offset \(offset)"
        if let found = former.records, found != account.records {
            let missing = account.records - found
            return ("\(missing) records are missing \(place)\(Self.causes)", max(1, missing))
        }
        if before >= start ? !notes.contains(before) : before >= offset {
            return ("the position note at offset \(before) is gone, which the one at offset \(offset) follows\(Self.causes)", 1)
        }
        if let found = former.changes, found != account.changes {
            let counts = "\(found.count) of \(account.changes.count)"
            return (
                "the answers \(place) tell of other changes than there were: \(counts)", max(1, account.changes.count - found.count)
            )
        }
        if former.records == nil, offset > needed, before < start, before >= logStart { uncounted = before }
        return nil
    }

    /// Whether the journal holds all answers that repeats may ask for.
    ///
    /// - Parameters:
    ///   - first: the offset of the journal's first record other than a claim.
    ///   - reach: how far back it must go by the times of its records and of the unread commands.
    ///   - retention: how long a repeat may come after its command, in milliseconds.
    func reachesBack(from first: Offset, _ reach: AnswerReach, retention: Timestamp) -> Bool {
        guard let last, let oldest = last.account.oldest, oldest < logStart, first >= reach.offset else { return true }
        guard let sent = reach.firstUnread, let notedAt = last.at else { return false }
        return sent > notedAt + retention
    }
}
