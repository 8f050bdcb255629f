/// Follows whose a partition is, by the claims in its journal.
///
/// The owner is the last *clean* claim: one whose writer knew of all others before it, and fenced the previous owner. Whoever
/// finds another claim in between writes nothing and claims again.
struct OwnerAudit {
    private(set) var owners: [AuditOwner] = []
    /// The clean claim that the partition belongs to.
    private(set) var claim: Int64?
    private var ids: [String] = []
    /// The ids that the writers of claims since then have fenced.
    private var fenced: Set<String> = []
    private var isReported = false
    private var claims: [(offset: Int64, ids: [String])] = []

    /// Adds a claim.
    ///
    /// - Returns: what is wrong with it.
    mutating func add(_ note: JSONReader, at moment: AuditMoment, partitionCount: Int) -> String? {
        guard let ids = note.texts("ids"), let since = note.integer("since"),
            let count = note.integer("partitions"), let group = note.string("group"), let instance = note.string("instance")
        else { return "the claim does not say whose it is" }
        fenced.formUnion((note.texts("fenced") ?? []) + ids)
        let isAlone = !claims.reversed().prefix(while: { $0.offset >= since }).contains { $0.ids != ids }
        if isAlone, fenced.isSuperset(of: self.ids) {
            (claim, self.ids, fenced) = (moment.offset, ids, [])
            begin(group, instance, at: moment)
        }
        claims.append((moment.offset, ids))
        if !(0...moment.offset ~= Int64(since)) { return "the claim's since is \(since), after the claim itself" }
        return count == partitionCount ? nil : "the claim's count of partitions is \(count), not \(partitionCount)"
    }

    /// Compares a position note with the owner's claim.
    mutating func check(_ note: JSONReader, at moment: AuditMoment, isWhole: Bool) -> String? {
        guard let ids = note.texts("ids"), let first = ids.first, let claim = note.integer("claim") else {
            return "it does not name its owner's claim"
        }
        if self.claim == nil, !isWhole {
            // The claim has expired. The ids are GROUP/INSTANCE/WORKER/SET/INDEX, and a group may have slashes.
            (self.claim, self.ids) = (Int64(claim), ids)
            let names = first.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            begin(names.dropLast().joined(separator: "/"), String(names.last ?? ""), at: moment)
        }
        guard let owner = self.claim else { return "the partition has no claim" }
        guard ids == self.ids, claim == owner else {
            return "its writer claimed at \(claim), and is not the owner, who did at \(owner)"
        }
        return nil
    }

    /// Whoever answers must have claimed the partition; said once.
    mutating func checkData(isWhole: Bool) -> String? {
        guard isWhole, claim == nil, !isReported else { return nil }
        isReported = true
        return "the partition has no claim"
    }

    private mutating func begin(_ group: String, _ instance: String, at moment: AuditMoment) {
        if let last = owners.last, last.group == group, last.instance == instance { return }
        if !owners.isEmpty { owners[owners.count - 1].to = moment }
        owners.append(AuditOwner(group: group, instance: instance, from: moment))
    }
}

extension JSONReader {
    /// The texts of a list; nil if it is none.
    fileprivate func texts(_ name: StaticString) -> [String]? {
        guard let list = value(name), tokens[list].kind == .array else { return nil }
        let texts = elements(of: list).map { string($0).map { String(decoding: $0, as: UTF8.self) } }
        return texts.contains(nil) ? nil : texts.compactMap(\.self)
    }
}
