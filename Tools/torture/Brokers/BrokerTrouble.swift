import Foundation
import Kafka

/// Stops, kills and starts single brokers, and measures the gaps in each partition's answers.
final class BrokerTrouble {
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

    /// The ids of the brokers.
    let brokers: [Int32]
    private(set) var table = BrokerGapTable()

    private let command: String
    private let bed: TestBed

    /// - Returns: nil if the plan has no broker command.
    init?(_ bed: TestBed) throws {
        guard let command = bed.plan.brokerCommand else { return nil }
        (self.command, self.bed) = (command, bed)
        brokers = Set(try bed.cluster.allPartitions().flatMap(\.replicas)).sorted()
    }

    /// Stops or kills a broker, and starts it again.
    ///
    /// - Parameter report: called with a line after each of the two steps.
    func run(_ kind: Kind, _ broker: Int32, report: (String) -> Void) throws {
        // With replicas that are not in sync, writes would be refused with one broker fewer.
        try waitUntilInSync()
        let rolesBefore = try BrokerRoles(bed)
        try measure(kind, broker, rolesBefore, report: report) {
            try wait(for: bed.plan.recoveryTimeout) {
                guard let partitions = try? bed.cluster.allPartitions() else { return false }
                return brokers.count == 1 || !partitions.contains { $0.leader == broker }
            }
        }
        try measure(.start, broker, rolesBefore, report: report) { try waitUntilInSync() }
    }

    private func waitUntilInSync() throws {
        let isInSync = try wait(for: bed.plan.recoveryTimeout + bed.plan.recoveryTimeout) {
            guard let partitions = try? bed.cluster.allPartitions() else { return false }
            return partitions.allSatisfy { $0.leader != nil && $0.inSyncReplicas.count == $0.replicas.count }
        }
        if !isInSync { throw TortureError("the brokers' replicas do not get in sync") }
    }

    private func measure(
        _ kind: Kind, _ broker: Int32, _ roles: BrokerRoles, report: (String) -> Void, until isOver: () throws -> Void
    ) throws {
        _ = (bed.watch.drainGaps(), bed.load.drainGaps())
        Console.status("broker \(broker): \(kind.rawValue)")
        let result = try Child.run("/bin/sh", ["-c", "\(command) \(kind.rawValue) \(broker)"])
        guard result.status == 0 else { throw TortureError("`\(command) \(kind.rawValue) \(broker)` fails: \(result.output)") }
        try isOver()
        bed.watch.expect(from: Set(bed.plan.allPartitions), madeAfter: wallClock() + 1_000)
        let hasAnswered = try wait(for: bed.plan.recoveryTimeout, through: bed.network) { bed.watch.expectation?.all != nil }
        guard hasAnswered else { throw TortureError("broker \(broker) \(kind.pastTense): not every partition answers") }
        let (answers, clients) = (bed.watch.drainGaps(), bed.load.drainGaps())
        for (partition, gap) in answers.ofEach {
            table.add(
                .init(
                    kind: kind, role: roles.role(of: broker, for: partition), answers: gap,
                    clients: clients.ofEach[partition] ?? .zero, failover: clients.longest))
        }
        report(
            "broker \(broker) \(kind.pastTense): longest gap in a partition's answers \(answers.longest.text), "
                + "in what brokers confirm to the clients \(clients.longest.text)")
        let partitions = answers.ofEach.sorted { $0.key < $1.key }.map { partition, gap in
            "\(partition): \(gap.text) (\(clients.ofEach[partition, default: .zero].text))"
        }
        report("  by partition, with the clients' in parentheses: \(partitions.joined(separator: ", "))")
    }
}
