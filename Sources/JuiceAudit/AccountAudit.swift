import JuiceMessages

/// Keeps the account of a partition, and works out what each position note should have.
///
/// Consecutive records do not show how many of them there must be. So each note says how many records the journal has handled, and
/// how often its stores were changed. If the beginning, the middle or a single record is lost, the next note shows it.
struct AccountAudit {
    /// The counts so far; nil while they are unknown.
    private var counted: (records: Int64, changes: StockChanges)?
    private var notes = Recent<Int64, Bool>(65_536)
    private var lastNote: Int64?
    /// Whether an anchor follows the last note. It accepts what is missing before it.
    private var isAnchored = false
    /// Whether the last note is an anchor's, and has other changes than the journal.
    private(set) var acceptsLoss = false

    /// - Parameter isWhole: whether nothing of the journal has expired.
    init(isWhole: Bool) { counted = isWhole ? (0, StockChanges()) : nil }

    /// Counts a record of the journal about a record of an input and, if it is an answer, its change.
    mutating func count(_ answer: JournalAnswer?) {
        counted?.records &+= 1
        guard let answer, answer.revision > 0, !answer.head.isDuplicate else { return }
        counted?.changes.add(ofWeight: StockChanges.weight(of: answer.head.store.bytes))
    }

    /// Records are unreadable: the next note's counts are taken as they are.
    mutating func lose() { counted = nil }

    /// An anchor was read. The next note begins an account.
    mutating func anchor() { isAnchored = true }

    /// The account that a position note should have: its own, unless that is wrong. The next note is compared with what this one
    /// says.
    ///
    /// - Parameters:
    ///   - first: the first offset of the journal that has not expired. Earlier places are not looked for.
    ///   - needed: the place of the oldest answer that a repeat may ask for, as far as is known.
    mutating func expected(_ said: JournalAccount?, at offset: Int64, first: Int64, needed: Int64?) -> JournalAccount? {
        let (there, isAccepted) = (counted, isAnchored)
        (counted, isAnchored, acceptsLoss) = (said.map { ($0.records, $0.changes) }, false, false)
        defer {
            notes[offset] = true
            lastNote = offset
        }
        guard let said else {
            let (records, changes) = there ?? (0, StockChanges())
            return JournalAccount(before: lastNote, records: records, changes: changes, oldest: needed, menu: 0)
        }
        acceptsLoss = isAccepted && there?.changes.count != said.changes.count
        var right = said
        if !isAccepted, let there { (right.records, right.changes) = there }
        // Writers name the last note that they know of, so it is never one that this audit has forgotten.
        let isKnown = said.before.map { $0 < first || notes[$0] != nil } ?? (isAccepted || lastNote == nil)
        if !isKnown { right.before = lastNote }
        let isBefore = said.oldest.map { $0 < max(offset, first) } ?? true
        if !isBefore || needed.map({ said.oldest ?? .max > $0 }) ?? false { right.oldest = needed }
        return right
    }
}
