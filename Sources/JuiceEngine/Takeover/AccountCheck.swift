import JuiceMessages

/// Counts what a journal holds while it is read, and compares that with the accounts in its position notes: see "How much there
/// must be" in docs/JOURNAL.md.
struct AccountCheck {
    /// The part of a journal before where it was read from, back to the last note there.
    struct Head: Equatable {
        let range: Range<Offset>
        /// The first note that was read, and how many records there must be between the two notes.
        let note: Offset
        fileprivate var records: Int64
        fileprivate var isComplete = false
    }

    /// What is wrong with a journal, and how many records or changes are missing; at least one.
    typealias Gap = (reason: String, missing: Int64)

    private static let causes = ": the results were compacted or recreated, or lost a part. Commands may be carried out twice"

    private let logStart: Offset
    private let start: Offset
    private var notes: Set<Offset> = []
    /// How many records the journal has handled; nil as long as that is unknown.
    private var records: Int64?
    /// What the stores must have changed; nil as long as that is unknown.
    private(set) var changes: StockChanges?
    /// The last note, and when it was written.
    private(set) var last: (offset: Offset, account: JournalAccount, at: Timestamp?)?
    /// The records before the first note.
    private var recordsBeforeNotes: Int64 = 0
    /// What is still to be counted.
    private(set) var head: Head?

    /// - Parameters:
    ///   - log: where the journal begins and ends.
    ///   - start: where it is read from.
    init(_ log: Range<Offset>, from start: Offset) {
        (logStart, self.start) = (log.lowerBound, start)
        if start == 0 { (records, changes) = (0, StockChanges()) }
    }

    /// A record of an input was handled.
    mutating func handled() {
        if records == nil { recordsBeforeNotes += 1 } else { records? += 1 }
    }

    /// An answer changed a store.
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
            head = nil
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
        if before < start, before >= logStart, former.records == nil {
            head = Head(range: before..<start, note: offset, records: account.records - recordsBeforeNotes)
        }
        return nil
    }

    /// Adds a record from before where the journal was read from.
    mutating func addHead(_ record: JournalRecord) {
        if case .position(let note) = record.note {
            // A note whose commit was never confirmed may stand between the two.
            if record.offset == head?.range.lowerBound, let account = note.account {
                head?.records -= account.records
                head?.isComplete = true
            }
        } else if record.handled != nil {
            head?.records -= 1
        }
    }

    /// What is wrong with the part before where the journal was read from; nil if nothing is.
    mutating func closeHead() -> Gap? {
        defer { head = nil }
        guard let head else { return nil }
        let notes = "the position notes at offsets \(head.range.lowerBound) and \(head.note)"
        guard head.isComplete else { return ("the first of \(notes) is gone\(Self.causes)", 1) }
        let reason = "\(head.records) records are missing between \(notes)\(Self.causes)"
        return head.records == 0 ? nil : (reason, max(1, head.records))
    }

    /// Whether the journal holds all answers that repeats may ask for.
    ///
    /// - Parameters:
    ///   - first: the offset of its first record.
    ///   - reach: how far back it must go by the times of its records and of the commands that are not read yet.
    ///   - retention: how long a repeat may come after its command, in milliseconds.
    func reachesBack(from first: Offset, _ reach: AnswerReach, retention: Timestamp) -> Bool {
        guard let last, let oldest = last.account.oldest, oldest < logStart, first >= reach.offset else { return true }
        guard let sent = reach.firstUnread, let notedAt = last.at else { return false }
        return sent > notedAt + retention
    }
}
