import Foundation
import Kafka

/// Stops, kills and starts single brokers, and measures the gaps in each partition's answers.
final class BrokerFailures {
    /// The ids of the brokers.
    let brokers: [Int32]
    /// The longest gaps so far, in lines.
    var summary: [String] { table.lines }

    private var table = BrokerGapTable()
    private let command: String
    private let bed: TestBed

    /// - Returns: nil if the plan has no broker command.
    init?(_ bed: TestBed) throws {
        guard let command = bed.plan.brokerCommand else { return nil }
        (self.command, self.bed) = (command, bed)
        brokers = Set(try bed.cluster.allPartitions().flatMap(\.replicas)).sorted()
    }

    /// Stops or kills a broker, and starts it again.
    func run(_ kind: BrokerGapTable.Kind, _ broker: Int32) throws {
        // With replicas that are not in sync, writes would be refused with one broker fewer.
        try waitUntilInSync()
        try measure(kind, broker) {
            try wait(for: bed.plan.recoveryTimeout) {
                guard let partitions = try? bed.cluster.allPartitions() else { return false }
                return brokers.count == 1 || !partitions.contains { $0.leader == broker }
            }
        }
        try measure(.start, broker) { try waitUntilInSync() }
    }

    private func waitUntilInSync() throws {
        let isInSync = try wait(for: bed.plan.recoveryTimeout * 2) {
            guard let partitions = try? bed.cluster.allPartitions() else { return false }
            return partitions.allSatisfy { $0.leader != nil && $0.inSyncReplicas.count == $0.replicas.count }
        }
        if !isInSync { throw ToolError("the brokers' replicas do not get in sync") }
    }

    private func measure(_ kind: BrokerGapTable.Kind, _ broker: Int32, until isOver: () throws -> Void) throws {
        _ = (bed.watch.drainGaps(), bed.load.drainGaps())
        Console.status("broker \(broker): \(kind.rawValue)")
        let result = try Child.run("/bin/sh", ["-c", "\(command) \(kind.rawValue) \(broker)"])
        guard result.status == 0 else { throw ToolError("`\(command) \(kind.rawValue) \(broker)` fails: \(result.output)") }
        try isOver()
        guard try bed.awaitAnswers(madeAfter: wallClock() + 1_000).all != nil else {
            throw ToolError("broker \(broker) \(kind.pastTense): not every partition answers")
        }
        let (answers, clients) = (bed.watch.drainGaps(), bed.load.drainGaps())
        for gap in answers.ofEach.values {
            table.observations.append(.init(kind: kind, answers: gap, clients: clients.longest))
        }
        bed.print(
            "broker \(broker) \(kind.pastTense): longest gap in a partition's answers \(answers.longest.text), "
                + "in what brokers confirm to the clients \(clients.longest.text)")
        let partitions = answers.ofEach.sorted { $0.key < $1.key }.map { partition, gap in
            "\(partition): \(gap.text) (\(clients.ofEach[partition, default: .zero].text))"
        }
        bed.print("  by partition, with the clients' in parentheses: \(partitions.joined(separator: ", "))")
    }
}

/// The longest gaps in partitions' answers during broker failures, by kind of failure.
///
/// The service cannot answer while the brokers accept no writes. The clients show how long that is: they are plain producers, and
/// their acknowledgements have a gap, too.
struct BrokerGapTable {
    /// A change of a broker.
    enum Kind: String, CaseIterable {
        case stop, kill, start

        var pastTense: String {
            switch self {
            case .stop: "stopped"
            case .kill: "killed"
            case .start: "started again"
            }
        }
    }

    /// The gaps of one partition during one failure.
    struct Observation {
        let kind: Kind
        /// The longest gap in the partition's answers.
        let answers: Duration
        /// The longest gap in the acknowledgements to clients in any partition.
        let clients: Duration

        /// The longest acceptable gap in the answers.
        var goal: Duration { kind == .kill ? clients + .seconds(2) : .seconds(2) }
    }

    var observations: [Observation] = []

    /// The table; empty without observations.
    var lines: [String] {
        guard !observations.isEmpty else { return [] }
        var rows = [["longest gap: broker", "seen", "median", "max", "clients", "over goal"]]
        for kind in Kind.allCases {
            let mine = observations.filter { $0.kind == kind }
            let answers = mine.map(\.answers).sorted()
            guard let longest = answers.last, let clients = mine.map(\.clients).max() else { continue }
            rows.append([
                kind.pastTense, "\(mine.count)", answers[answers.count / 2].text, longest.text, clients.text,
                "\(mine.count { $0.answers > $0.goal })",
            ])
        }
        return table(rows) + ["goals: 2 s; killed, 2 s more than the longest gap in what brokers confirm to the clients"]
    }
}
