import Foundation
import Kafka

/// Stops, kills and starts single brokers, and measures the longest gaps in each partition's answers.
///
/// The service cannot answer while the brokers accept no writes. The clients show how long that is: they are plain producers, and
/// their acknowledgements have a gap, too.
final class BrokerFailures {
    /// A change of a broker.
    enum Kind: String {
        case stop, kill, start

        var pastTense: String {
            switch self {
            case .stop: "stopped"
            case .kill: "killed"
            case .start: "started again"
            }
        }

        /// The longest acceptable gap in a partition's answers, given the longest gap in the clients' acknowledgements.
        func limit(clients: Duration) -> Duration { .seconds(2) + (self == .kill ? clients : .zero) }
    }

    /// The ids of the brokers.
    let brokers: [Int32]
    /// The longest gaps so far, in lines.
    var summary: [String] { Timing.table(of: gaps, "longest gap: broker", other: "clients") }

    private var gaps: [Timing] = []
    private let command: String
    private let bed: TestBed

    /// - Returns: nil if the plan has no broker command.
    init?(_ bed: TestBed) throws {
        guard let command = bed.plan.brokerCommand else { return nil }
        (self.command, self.bed) = (command, bed)
        brokers = Set(try bed.cluster.allPartitions().flatMap(\.replicas)).sorted()
    }

    /// Stops or kills a broker, and starts it again.
    func run(_ kind: Kind, _ broker: Int32) throws {
        // If replicas were out of sync, the loss of one broker would make the others refuse writes.
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

    private func measure(_ kind: Kind, _ broker: Int32, until isOver: () throws -> Void) throws {
        _ = (bed.watch.drainGaps(), bed.load.drainGaps())
        Console.status("broker \(broker): \(kind.rawValue)")
        let result = try Child.run("/bin/sh", ["-c", "\(command) \(kind.rawValue) \(broker)"])
        guard result.status == 0 else { throw ToolError("`\(command) \(kind.rawValue) \(broker)` fails: \(result.output)") }
        try isOver()
        guard try bed.awaitAnswers(madeAfter: wallClock() + 1_000).all != nil else {
            throw ToolError("broker \(broker) \(kind.pastTense): not every partition answers")
        }
        let (answers, clients) = (bed.watch.drainGaps(), bed.load.drainGaps())
        gaps += answers.ofEach.values.map { gap in
            Timing(
                cause: kind.pastTense, time: gap, limit: kind.limit(clients: clients.longest), other: clients.longest)
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
