/// Follows whose a partition is, by the claims in its journal.
///
/// The owner is the last *clean* claim: one before which nobody else claimed that its writer did not know of. Whoever finds
/// another claim in between writes nothing and claims again.
struct OwnerAudit {
    private(set) var owners: [AuditOwner] = []
    /// The clean claim that the partition belongs to.
    private(set) var claim: Int64?
    private var ids: UInt64 = 0
    private var isReported = false
    private var claims: [(offset: Int64, ids: UInt64)] = []

    /// Adds a claim.
    ///
    /// - Returns: what is wrong with it.
    mutating func add(_ note: JSONReader, at moment: AuditMoment, partitionCount: Int) -> String? {
        guard let (ids, _) = note.ids, let since = note.integer("since"), let count = note.integer("partitions"),
            let group = note.string("group"), let instance = note.string("instance")
        else { return "the claim does not say whose it is" }
        if !claims.reversed().prefix(while: { $0.offset >= since }).contains(where: { $0.ids != ids }) {
            (claim, self.ids) = (moment.offset, ids)
            begin(group, instance, at: moment)
        }
        claims.append((moment.offset, ids))
        if !(0...moment.offset ~= Int64(since)) { return "the claim's since is \(since), after the claim itself" }
        return count == partitionCount ? nil : "the claim's count of partitions is \(count), not \(partitionCount)"
    }

    /// Compares a position note with the owner's claim.
    mutating func check(_ note: JSONReader, at moment: AuditMoment, isWhole: Bool) -> String? {
        guard let (ids, first) = note.ids, let claim = note.integer("claim") else { return "it does not name its owner's claim" }
        if self.claim == nil, !isWhole {
            // The claim has expired. The ids are GROUP/INSTANCE/WORKER/SET/INDEX, and a group may have slashes.
            (self.claim, self.ids) = (Int64(claim), ids)
            let names = String(decoding: first, as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            begin(names.dropLast().joined(separator: "/"), String(names.last ?? ""), at: moment)
        }
        guard let owner = self.claim else { return "nobody has claimed the partition" }
        guard ids == self.ids, claim == owner else {
            return "its writer claimed at \(claim), and is not the owner, who did at \(owner)"
        }
        return nil
    }

    /// Whoever answers must have claimed the partition; said once.
    mutating func checkData(isWhole: Bool) -> String? {
        guard isWhole, claim == nil, !isReported else { return nil }
        isReported = true
        return "nobody has claimed the partition"
    }

    private mutating func begin(_ group: String, _ instance: String, at moment: AuditMoment) {
        if let last = owners.last, last.group == group, last.instance == instance { return }
        if !owners.isEmpty { owners[owners.count - 1].to = moment }
        owners.append(AuditOwner(group: group, instance: instance, from: moment))
    }
}

extension JSONReader {
    /// Stands for the transactional ids of a note, with the first of them.
    fileprivate var ids: (UInt64, first: UnsafeBufferPointer<UInt8>)? {
        let texts = value("ids").flatMap { tokens[$0].kind == .array ? elements(of: $0) : nil }?.map(string) ?? []
        guard let first = texts.first ?? nil, !texts.contains(where: { $0 == nil }) else { return nil }
        var digest = Digest()
        for case let text? in texts { digest.add(text) }
        return (digest.value, first)
    }
}
