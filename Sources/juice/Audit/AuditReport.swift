import Foundation
import JuiceAudit

/// What an audit found, as JSON and as text for people.
struct AuditReport: Encodable {
    struct Violation: Encodable {
        let category: String
        let topic: String
        let partition: Int
        /// Nil if the record is missing.
        let offset: Int64?
        let problem: String
    }

    struct Start: Encodable {
        let partition: Int
        let offset: Int64
        let timestamp: Int64
    }

    struct Counts: Encodable {
        let records: Int
        let commands: Int
        let answers: Int
        let duplicates: Int
        let open: Int
        let unjudged: Int
        let forwarded: Int
        let deadLetters: Int
        let stores: Int
        let juicesMade: Int
        let outOfStock: Int
        let restocked: Int
        let cancelled: Int
        let rejected: Int
        let withoutRevision: Int
    }

    let isClean: Bool
    let missing: Int
    let doubled: Int
    let wrong: Int
    /// The first ones, in the order of topics, partitions and offsets within each kind of check.
    let violations: [Violation]
    let counts: Counts
    /// Where the audit begins in partitions whose beginning has expired.
    let judgedFrom: [Start]

    /// - Parameter topicPrefix: the prefix of the topics' names.
    init(_ audit: Audit, topicPrefix: String) {
        (missing, doubled) = (audit.count(of: .missing), audit.count(of: .doubled))
        wrong = audit.count(of: .wrong)
        isClean = missing + doubled + wrong == 0
        violations = audit.faults.map { fault in
            Violation(
                category: fault.category.rawValue,
                topic: topicPrefix + fault.topic.rawValue,
                partition: fault.partition,
                offset: fault.offset,
                problem: fault.problem
            )
        }
        let counts = audit.counts
        self.counts = Counts(
            records: counts.records,
            commands: counts.commands,
            answers: counts.answers,
            duplicates: counts.duplicates,
            open: counts.open,
            unjudged: counts.unjudged,
            forwarded: counts.forwarded,
            deadLetters: counts.deadLetters,
            stores: counts.stores,
            juicesMade: counts.juicesMade,
            outOfStock: counts.outOfStock,
            restocked: counts.restocked,
            cancelled: counts.cancelled,
            rejected: counts.rejected,
            withoutRevision: counts.withoutRevision
        )
        judgedFrom = audit.starts.map {
            Start(partition: $0.partition, offset: $0.offset, timestamp: $0.timestamp)
        }
    }

    /// How many violations people are shown; `--json` has more.
    static let shown = 100

    /// The report for people: the violations, then what was read, then the verdict.
    var lines: [String] {
        var lines = violations.prefix(Self.shown).map { violation in
            let offset = violation.offset.map { "@\($0)" } ?? ""
            let place = "\(violation.topic) \(violation.partition)\(offset)"
            return "\(violation.category)  \(place)  \(violation.problem)".printable
        }
        let found = missing + doubled + wrong
        if found > lines.count { lines.append("… and \(found - lines.count) more: see --json") }
        lines += judgedFrom.map { start in
            "partition \(start.partition): the beginning has expired, judged from answer \(start.offset) on"
        }
        lines.append(
            "\(counts.commands) commands of \(counts.stores) stores, \(counts.answers) answers "
                + "(\(counts.duplicates) duplicates), \(counts.deadLetters) dead letters, "
                + "\(counts.forwarded) forwarded"
        )
        if counts.open > 0 { lines.append("\(counts.open) of the latest commands are not answered yet") }
        if counts.unjudged > 0 {
            lines.append("\(counts.unjudged) records cannot be judged, since what they go with has expired")
        }
        if counts.withoutRevision > 0 {
            lines.append("\(counts.withoutRevision) changes were answered by versions without revisions")
        }
        lines.append(
            isClean
                ? "clean: nothing is missing, doubled or wrong"
                : "violated: \(missing) missing, \(doubled) doubled, \(wrong) wrong"
        )
        return lines
    }
}
