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
        let rolesBefore = try BrokerRoles(bed)
        try measure(kind, broker, rolesBefore) {
            try wait(for: bed.plan.recoveryTimeout) {
                guard let partitions = try? bed.cluster.allPartitions() else { return false }
                return brokers.count == 1 || !partitions.contains { $0.leader == broker }
            }
        }
        try measure(.start, broker, rolesBefore) { try waitUntilInSync() }
    }

    private func waitUntilInSync() throws {
        let isInSync = try wait(for: bed.plan.recoveryTimeout * 2) {
            guard let partitions = try? bed.cluster.allPartitions() else { return false }
            return partitions.allSatisfy { $0.leader != nil && $0.inSyncReplicas.count == $0.replicas.count }
        }
        if !isInSync { throw ToolError("the brokers' replicas do not get in sync") }
    }

    private func measure(
        _ kind: BrokerGapTable.Kind, _ broker: Int32, _ roles: BrokerRoles, until isOver: () throws -> Void
    ) throws {
        _ = (bed.watch.drainGaps(), bed.load.drainGaps())
        Console.status("broker \(broker): \(kind.rawValue)")
        let result = try Child.run("/bin/sh", ["-c", "\(command) \(kind.rawValue) \(broker)"])
        guard result.status == 0 else { throw ToolError("`\(command) \(kind.rawValue) \(broker)` fails: \(result.output)") }
        try isOver()
        guard try bed.awaitAnswers(madeAfter: wallClock() + 1_000).all != nil else {
            throw ToolError("broker \(broker) \(kind.pastTense): not every partition answers")
        }
        let (answers, clients) = (bed.watch.drainGaps(), bed.load.drainGaps())
        for (partition, gap) in answers.ofEach {
            table.observations.append(
                .init(
                    kind: kind, role: roles.role(of: broker, for: partition), answers: gap,
                    clients: clients.ofEach[partition] ?? .zero, failover: clients.longest))
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

/// The longest gaps in partitions' answers during broker failures, by kind of failure and by the broker's role for the partition.
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
        let role: BrokerRoles.Role
        /// The longest gap in the partition's answers.
        let answers: Duration
        /// The longest gap in the acknowledgements to clients in the partition.
        let clients: Duration
        /// The longest gap in the acknowledgements in any partition.
        let failover: Duration

        /// The longest acceptable gap in the answers.
        var goal: Duration {
            switch (kind, role) {
            case (.kill, .neither): max(.seconds(3), clients + .seconds(2))
            case (.kill, _): failover + .seconds(2)
            case (.stop, _), (.start, _): .seconds(2)
            }
        }
    }

    var observations: [Observation] = []

    /// The table; empty without observations.
    var lines: [String] {
        guard !observations.isEmpty else { return [] }
        var rows = [["longest gap: broker", "seen", "median", "max", "clients", "over goal"]]
        for kind in Kind.allCases {
            for role in BrokerRoles.Role.allCases {
                let mine = observations.filter { $0.kind == kind && $0.role == role }
                let answers = mine.map(\.answers).sorted()
                guard let longest = answers.last, let clients = mine.map(\.clients).max() else { continue }
                rows.append([
                    "\(kind.pastTense), \(role.rawValue)", "\(mine.count)", answers[answers.count / 2].text, longest.text,
                    clients.text, "\(mine.count { $0.answers > $0.goal })",
                ])
            }
        }
        return table(rows) + [
            "goals: 2 s; killed, 2 s more than the longest gap in what brokers confirm to the clients, and where the broker",
            "neither led nor coordinated, 3 s or 2 s more than the gap in what was confirmed in that partition",
        ]
    }
}

/// The roles of brokers for the service at one moment: what a broker leads or coordinates fails with it.
struct BrokerRoles {
    /// The role of a broker for one partition of the service.
    enum Role: String, CaseIterable {
        case leader = "leader there"
        case coordinator = "coordinator there"
        case neither = "neither there"
    }

    private static let internalTopics = (groups: "__consumer_offsets", transactions: "__transaction_state")

    private var leaders: [Int32: Set<Int32>] = [:]
    /// By partition: the coordinators of the group, and of the transactional ids that write to it.
    private var coordinators: [Int32: Set<Int32>] = [:]

    init(_ bed: TestBed) throws(KafkaError) {
        let topics = ["orders", "restocks", "results", "stock"].map(bed.plan.topic)
        let (groups, transactions) = Self.internalTopics
        let metadata = try bed.cluster.admin.metadata(topics: topics + [groups, transactions], timeout: .seconds(5))
        for partition in topics.flatMap({ metadata[$0]?.partitions ?? [] }) {
            if let leader = partition.leader { leaders[partition.number, default: []].insert(leader) }
        }
        /// Kafka's rule for the coordinator of a name.
        func coordinator(of name: String, in topic: String) -> Int32? {
            guard let partitions = metadata[topic]?.partitions, !partitions.isEmpty else { return nil }
            let hash = javaHash(name)
            let number = Int32(hash == .min ? 0 : Int(hash.magnitude) % partitions.count)
            return partitions.first { $0.number == number }?.leader
        }
        let group = coordinator(of: bed.plan.group, in: groups)
        for (partition, ids) in bed.watch.state.ids {
            coordinators[partition] = Set((ids.map { coordinator(of: $0, in: transactions) } + [group]).compactMap(\.self))
        }
    }

    func role(of broker: Int32, for partition: Int32) -> Role {
        if leaders[partition, default: []].contains(broker) { return .leader }
        return coordinators[partition, default: []].contains(broker) ? .coordinator : .neither
    }
}

/// Java's `String.hashCode`, by which Kafka distributes names over its internal topics.
func javaHash(_ text: String) -> Int32 { text.utf16.reduce(0) { $0 &* 31 &+ Int32($1) } }
