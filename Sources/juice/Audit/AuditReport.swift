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

    /// A record of the results.
    struct Moment: Encodable {
        let partition: Int
        let offset: Int64
        /// In milliseconds since 1970.
        let timestamp: Int64
    }

    struct Owner: Encodable {
        let partition: Int
        let group: String
        let instance: String
        let fromOffset: Int64
        let fromTimestamp: Int64
        /// Nil if it owns the partition still.
        let toOffset: Int64?
        let toTimestamp: Int64?
    }

    struct Anchor: Encodable {
        let at: Moment
        let topic: String
        let partition: Int
        let from: Int64?
        let to: Int64
        let by: String
        let reason: String?
        let skipped: Int
    }

    struct Counts: Encodable {
        let records, commands, answers, duplicates, open, skipped, unjudged, forwarded, deadLetters, stores: Int
        let juicesMade, outOfStock, restocked, cancelled, rejected: Int
    }

    let isClean: Bool
    let missing: Int
    let doubled: Int
    let wrong: Int
    /// The first ones, in the order of topics, partitions and offsets within each kind of check.
    let violations: [Violation]
    let counts: Counts
    /// Which partition had which owners, by the claims in the results.
    let owners: [Owner]
    /// The positions that operators moved.
    let anchors: [Anchor]
    /// Where the audit begins in partitions whose beginning has expired.
    let judgedFrom: [Moment]

    /// - Parameter topicPrefix: the prefix of the topics' names.
    init(_ audit: Audit, topicPrefix: String) {
        (missing, doubled, wrong) = (audit.count(of: .missing), audit.count(of: .doubled), audit.count(of: .wrong))
        isClean = missing + doubled + wrong == 0
        violations = audit.faults.map { fault in
            Violation(
                category: fault.category.rawValue, topic: topicPrefix + fault.topic.rawValue, partition: fault.partition,
                offset: fault.offset, problem: fault.problem)
        }
        let counts = audit.counts
        self.counts = Counts(
            records: counts.records, commands: counts.commands, answers: counts.answers, duplicates: counts.duplicates,
            open: counts.open, skipped: counts.skipped, unjudged: counts.unjudged, forwarded: counts.forwarded,
            deadLetters: counts.deadLetters, stores: counts.stores, juicesMade: counts.juicesMade, outOfStock: counts.outOfStock,
            restocked: counts.restocked, cancelled: counts.cancelled, rejected: counts.rejected)
        owners = audit.owners.map { owner in
            Owner(
                partition: owner.from.partition, group: owner.group, instance: owner.instance, fromOffset: owner.from.offset,
                fromTimestamp: owner.from.timestamp, toOffset: owner.to?.offset, toTimestamp: owner.to?.timestamp)
        }
        func moment(_ moment: AuditMoment) -> Moment {
            Moment(partition: moment.partition, offset: moment.offset, timestamp: moment.timestamp)
        }
        anchors = audit.anchors.map { anchor in
            Anchor(
                at: moment(anchor.at), topic: topicPrefix + anchor.topic.rawValue, partition: anchor.partition, from: anchor.from,
                to: anchor.to, by: anchor.by, reason: anchor.reason, skipped: anchor.skipped)
        }
        judgedFrom = audit.starts.map(moment)
    }

    /// How many lines of a kind people are shown; `--json` has more.
    static let shown = 100

    /// The report for people: the violations, then who owned which partition, what was read, and the verdict.
    var lines: [String] {
        var lines = Self.cut(
            violations.map { violation in
                let offset = violation.offset.map { "@\($0)" } ?? ""
                return
                    "\(violation.category)  \(violation.topic) \(violation.partition)\(offset)  \(violation.problem)"
            },
            of: missing + doubled + wrong
        )
        lines += Self.cut(
            owners.map { owner in
                let end = owner.toOffset.map { " to \($0) (\(Self.time(owner.toTimestamp ?? 0)))" } ?? " on"
                return "partition \(owner.partition): \(owner.instance) of group \(owner.group) from \(owner.fromOffset)"
                    + " (\(Self.time(owner.fromTimestamp)))\(end)"
            },
            of: owners.count
        )
        lines += Self.cut(
            anchors.map { anchor in
                "\(anchor.topic) \(anchor.partition): moved from \(anchor.from.map(String.init) ?? "nowhere") to \(anchor.to)"
                    + " by \(anchor.by) (\(Self.time(anchor.at.timestamp))), \(anchor.skipped) passed over"
                    + (anchor.reason.map { ": \($0)" } ?? "")
            },
            of: anchors.count
        )
        lines += judgedFrom.map {
            "partition \($0.partition): the beginning has expired, judged from record \($0.offset) on"
        }
        lines.append(
            "\(counts.commands) commands of \(counts.stores) stores, \(counts.answers) answers "
                + "(\(counts.duplicates) duplicates), \(counts.deadLetters) dead letters, \(counts.forwarded) forwarded")
        if counts.open > 0 { lines.append("\(counts.open) of the latest commands are not answered yet") }
        if counts.skipped > 0 {
            lines.append("\(counts.skipped) records were passed over, by an operator or when the results began")
        }
        if counts.unjudged > 0 { lines.append("\(counts.unjudged) records cannot be judged, since what they go with has expired") }
        lines.append(
            isClean
                ? "clean: nothing is missing, doubled or wrong" : "violated: \(missing) missing, \(doubled) doubled, \(wrong) wrong"
        )
        return lines
    }

    /// The first lines, and how many more there are.
    private static func cut(_ lines: [String], of count: Int) -> [String] {
        let shown = lines.prefix(Self.shown).map(\.printable)
        return count > shown.count ? shown + ["… and \(count - shown.count) more: see --json"] : shown
    }

    private static func time(_ timestamp: Int64) -> String {
        Date(timeIntervalSince1970: Double(timestamp) / 1000).formatted(.iso8601)
    }
}
