/// Judges by the committed records alone whether the contract was kept.
///
/// It knows only the contract, and shares no code with the service. The topics must be complete: no record expired, all
/// commands answered, and no transaction open.
///
/// ```swift
/// let audit = Audit(of: topics, by: AuditRules(partitionCount: 8))
/// for fault in audit.faults { print(fault) }
/// ```
public struct Audit: Sendable {
    /// Every way in which the contract is broken; empty when it was kept.
    public let faults: [Fault]
    /// What the topics held.
    public let counts: AuditCounts

    /// Audits all records of the five topics.
    public init(of topics: AuditTopics, by rules: AuditRules) {
        var counts = AuditCounts()
        let intake = Intake(topics, rules)
        let forwards = ForwardAudit(topics, intake)
        let deadLetters = DeadLetterAudit(topics, intake, rules)
        var faults = forwards.list.faults + deadLetters.list.faults

        var names = intake.names
        var ledger = Ledger(storeCount: names.stores.count)
        for partition in 0..<max(rules.partitionCount, topics.results.count) {
            var replay = Replay(topics, partition: partition, intake, rules)
            replay.run(&names, &ledger)
            faults += replay.list.faults
            counts.add(replay.counts)
        }
        faults += StockAudit(topics, names, ledger).list.faults

        counts.records = topics.orders.joined().count + topics.restocks.joined().count - forwards.count
        counts.commands = intake.commands.values.joined().reduce(0) { $0 + $1.count }
        counts.forwarded = forwards.count
        counts.deadLetters = deadLetters.count
        counts.stores = names.stores.count
        self.faults = faults
        self.counts = counts
    }

    /// How many faults there are of a category.
    public func count(of category: Fault.Category) -> Int {
        faults.count { $0.category == category }
    }
}
