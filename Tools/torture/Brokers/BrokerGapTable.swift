import Foundation

/// The longest gaps in partitions' answers during broker failures, by kind of failure and by the broker's role for the partition.
///
/// The service cannot answer while the brokers accept no writes. The clients show how long that is: they are plain producers, and
/// their acknowledgements have a gap, too.
struct BrokerGapTable {
    /// The gaps of one partition during one failure.
    struct Observation {
        let kind: BrokerTrouble.Kind
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

    private var observations: [Observation] = []

    mutating func add(_ observation: Observation) { observations.append(observation) }

    /// The table; empty without observations.
    var lines: [String] {
        guard !observations.isEmpty else { return [] }
        var lines = [Self.row("longest gap: broker", "seen", "median", "max", "clients", "over goal")]
        for kind in BrokerTrouble.Kind.allCases {
            for role in BrokerRoles.Role.allCases {
                let mine = observations.filter { $0.kind == kind && $0.role == role }
                let answers = mine.map(\.answers).sorted()
                guard let longest = answers.last, let clients = mine.map(\.clients).max() else { continue }
                lines.append(
                    Self.row(
                        "\(kind.pastTense), \(role.rawValue)", "\(mine.count)", answers[answers.count / 2].text, longest.text,
                        clients.text, "\(mine.count { $0.answers > $0.goal })"))
            }
        }
        return lines + [
            "goals: 2 s; killed, 2 s more than the longest gap in what brokers confirm to the clients, and where the broker",
            "neither led nor coordinated, 3 s or 2 s more than the gap in what was confirmed in that partition",
        ]
    }

    private static func row(_ name: String, _ cells: String...) -> String {
        Console.row(name, cells, nameWidth: 34, cellWidth: 10)
    }
}
