/// The verdict on the committed records: whether the contract was kept.
///
/// An audit knows only the contract, and shares no code with the service.
///
/// ```swift
/// let audit = Audit(of: topics, by: AuditRules(partitionCount: 8))
/// for fault in audit.faults { print(fault) }
/// ```
public struct Audit: Sendable {
    /// The ways in which the contract is broken; empty when it was kept. The first 10,000 are listed.
    public let faults: [Fault]
    /// What the topics held.
    public let counts: AuditCounts
    /// The partitions whose beginning has expired, and from where on the audit could judge them.
    public let starts: [AuditStart]
    private let totals: [Fault.Category: Int]

    init(_ list: FaultList, _ counts: AuditCounts, _ starts: [AuditStart]) {
        (faults, totals, self.counts, self.starts) = (list.faults, list.counts, counts, starts)
    }

    /// Audits all records of the five topics. They must be complete: no record expired, all commands answered, and no
    /// transaction open.
    ///
    /// - Parameters:
    ///   - topics: the records.
    ///   - rules: the service's settings.
    public init(of topics: AuditTopics, by rules: AuditRules) {
        do {
            let session = AuditSession(RecordArrays(topics), by: rules)
            for partition in 0..<session.partitionCount { try session.audit(partition) }
            self = try session.finish()
        } catch {
            // Arrays can always be read.
            var list = FaultList()
            list.add(.wrong, .results, 0, nil, "the records cannot be read: \(error)")
            self.init(list, AuditCounts(), [])
        }
    }

    /// How many faults there are of a category, those that are not listed among them.
    ///
    /// - Parameter category: the category.
    public func count(of category: Fault.Category) -> Int { totals[category, default: 0] }
}

/// From where on an audit could judge a partition: what is older has expired.
public struct AuditStart: Sendable, Hashable {
    /// The partition.
    public let partition: Int
    /// The offset of the first answer that could be judged.
    public let offset: Int64
    /// When that answer was given, in milliseconds since 1970.
    public let timestamp: Int64
}
