import JuiceMessages

/// Follows the ownership of a partition, by the claims in its journal.
///
/// The owner is the writer of the last *clean* claim: it knew of all claims before its own, and fenced the previous owner. A worker
/// that finds another claim in between writes nothing and claims again.
struct OwnerAudit {
    private(set) var owners: [AuditOwner] = []
    private(set) var claim: Int64?
    private(set) var ids: [String] = []
    /// The ids that the writers of later claims have fenced.
    private var fenced: Set<String> = []
    private var isReported = false
    private var claims: [(offset: Int64, ids: [String])] = []

    /// Adds a claim. Returns what is wrong with it.
    mutating func add(_ claim: JournalClaim, at moment: AuditMoment, partitionCount: Int32) -> String? {
        fenced.formUnion(claim.fenced + claim.ids)
        let isAlone = !claims.reversed().prefix(while: { $0.offset >= claim.since }).contains { $0.ids != claim.ids }
        if isAlone, fenced.isSuperset(of: ids) {
            (self.claim, ids, fenced) = (moment.offset, claim.ids, [])
            begin(claim.group, claim.instance, at: moment)
        }
        claims.append((moment.offset, claim.ids))
        if claim.since > moment.offset { return "the claim's since is \(claim.since), after the claim itself" }
        return claim.partitions == partitionCount
            ? nil : "the claim's count of partitions is \(claim.partitions), not \(partitionCount)"
    }

    /// Takes the owner from a position note if its claim has expired.
    mutating func adopt(_ note: JournalPosition, at moment: AuditMoment) {
        guard claim == nil, let first = note.ids.first else { return }
        (claim, ids) = (note.claim, note.ids)
        // The ids are GROUP/INSTANCE/WORKER/SET/INDEX, and a group may have slashes.
        let names = first.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        begin(names.dropLast().joined(separator: "/"), String(names.last ?? ""), at: moment)
    }

    /// The problem if a record was handled in a journal without a claim; returned only once.
    mutating func checkClaimed() -> String? {
        guard claim == nil, !isReported else { return nil }
        isReported = true
        return "the partition has no claim"
    }

    private mutating func begin(_ group: String, _ instance: String, at moment: AuditMoment) {
        if let last = owners.last, last.group == group, last.instance == instance { return }
        if !owners.isEmpty { owners[owners.count - 1].to = moment }
        owners.append(AuditOwner(group: group, instance: instance, from: moment))
    }
}
