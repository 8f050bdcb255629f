import JuiceAudit

/// The result of a run.
struct Report {
    let audit: Audit
    /// Records that a broker acknowledged but that are missing.
    let lost: [String]
    /// Problems other than violations of the contract.
    let problems: [String]
    /// Durations, as lines.
    let summary: [String]

    var isSound: Bool { audit.faults.isEmpty && lost.isEmpty && problems.isEmpty }

    /// Further faults are counted but not shown: one cause often leads to many.
    private static let mostShown = 50

    /// - Parameter title: the kind of run, for the last line.
    func print(as title: String) {
        for line in summary { Console.line(line) }
        let counts = audit.counts
        Console.line(
            """
            \(counts.records) records of clients, \(counts.forwarded) forwarded, \(counts.deadLetters) put aside, \
            \(counts.stores) stores, \
            whose partitions had \(audit.owners.count) owners one after the other
            \(counts.answers) answers: \(counts.juicesMade) juice made, \(counts.outOfStock) out of stock, \
            \(counts.restocked) restocked, \(counts.cancelled) cancelled, \(counts.rejected) rejected, \
            \(counts.duplicates) duplicates
            """
        )
        // The worst first.
        let kinds = JuiceAudit.Fault.Category.allCases
        let found = kinds.flatMap { kind in audit.faults.filter { $0.category == kind } }
        let faults = lost + found.map(\.description)
        for fault in faults.prefix(Self.mostShown) { Console.line(fault) }
        if faults.count > Self.mostShown { Console.line("and \(faults.count - Self.mostShown) more") }
        for problem in problems { Console.line(problem) }
        let missing = audit.count(of: .missing) + lost.count
        Console.line(
            "\(title), \(counts.commands) commands, \(missing) missing, "
                + "\(audit.count(of: .doubled)) doubled, \(audit.count(of: .wrong)) wrong"
                + (problems.isEmpty ? "" : ", \(problems.count) problems"))
    }

    /// The acknowledged records that are missing from the topics. The audit itself sees only what is in the topics.
    static func lost(_ acknowledged: [Load.Acknowledged], in topics: AuditTopics) -> [String] {
        var values: [String: [[Int64: [UInt8]?]]] = [:]
        for (name, partitions) in [("orders", topics.orders), ("restocks", topics.restocks)] {
            values[name] = partitions.map { records in
                Dictionary(records.map { ($0.offset, $0.value) }) { first, _ in first }
            }
        }
        return acknowledged.compactMap { record in
            let partition = values[record.topic]?[Int(record.partition)] ?? [:]
            let isThere = record.offset.map { partition[$0] == .some(record.value) } ?? partition.values.contains(record.value)
            guard !isThere else { return nil }
            let place = "\(record.topic) \(record.partition)" + (record.offset.map { "@\($0)" } ?? "")
            return "missing: \(place): it was acknowledged and is not there"
        }
    }
}
