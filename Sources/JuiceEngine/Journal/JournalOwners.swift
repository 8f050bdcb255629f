import JuiceMessages

/// Who may write to a partition's journal: a fold over the claims and position notes in it, those of undecided transactions
/// included.
package struct JournalOwners {
    /// The last claim that is committed.
    package struct LastClaim: Sendable {
        let offset: Offset
        let ids: [String]
        package let group: String
        package let instance: String
        /// When it was written; nil if only a position note names it.
        package let timestamp: Timestamp?

        package init(_ claim: JournalClaim, at offset: Offset, _ timestamp: Timestamp?) {
            (self.offset, ids, group, instance) = (offset, claim.ids, claim.group, claim.instance)
            self.timestamp = timestamp
        }

        /// The claim of a position note's writer, by its transactional ids: `GROUP/INSTANCE/WORKER/SET/INDEX`.
        package init(of note: JournalPosition) {
            (offset, ids, timestamp) = (note.claim, note.ids, nil)
            let parts = (ids.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
            group = parts.dropLast(4).joined(separator: "/")
            instance = parts.dropLast(3).last.map(String.init) ?? ""
        }
    }

    private(set) var lastClaim: LastClaim?
    /// The transactional ids of each claim, by its offset.
    private(set) var claims: [Offset: [String]] = [:]
    /// The transactional ids of each position note's writer.
    private var writers: [Offset: [String]] = [:]
    /// The ids named before this offset were fenced by the writer of a later claim or note.
    private var fencedUpTo: Offset = 0

    /// Adds the next record.
    ///
    /// - Parameter isCommitted: whether its transaction is committed. If not, its writer may still commit something.
    mutating func add(_ record: JournalRecord, isCommitted: Bool) {
        let offset = record.offset
        switch record.note {
        case .claim(let claim):
            claims[offset] = claim.ids
            guard isCommitted else { return }
            // The writer of a claim that was in flight while the journal was recreated may have read the old one.
            if Set(lastClaim?.ids ?? []).isSubset(of: claim.fenced) { fencedUpTo = max(fencedUpTo, min(claim.since, offset)) }
            lastClaim = LastClaim(claim, at: offset, record.timestamp)
        case .position(let note):
            writers[offset] = note.ids
            guard isCommitted else { return }
            // Its writer had fenced every id named before it, except its own.
            fencedUpTo = max(fencedUpTo, offset)
            if lastClaim.map({ $0.offset < note.claim }) ?? true { lastClaim = LastClaim(of: note) }
        default: break
        }
    }

    /// The ids that may still write.
    var suspects: Set<String> {
        [claims, writers].reduce(into: []) { suspects, named in
            for (offset, ids) in named where offset >= fencedUpTo { suspects.formUnion(ids) }
        }
    }
}
