import Foundation
import JuiceAudit
import Kafka
import Logging

/// What to do, as the command line says.
struct Plan: Sendable {
    let bootstrapServers: String
    let rounds: Int
    let brokerRestart: String?
    /// Stops, kills and starts a broker.
    let brokerCommand: String?
    let instances: Int
    let clients: Int
    /// Commands a second.
    let rate: Double
    let stores: Int
    let partitions: Int
    let session: Duration
    /// In seconds.
    let duplicateWindow: Int?
    let duplicateIDs: Int?
    let seed: UInt64
    let juice: URL
    let isPlain: Bool
    let isRolling: Bool
    /// What is done to the requests of the service; nil for nothing.
    let network: NetworkPlan?
    let keeps: Bool
    /// What the names of this run's topics, its group and its folder begin with.
    let prefix = "juice-torture-\(UInt32.random(in: 1_000..<1_000_000))."

    var group: String { prefix + "group" }

    /// Long enough for a session and a transaction of a dead instance to time out, one after the other.
    var recoveryTimeout: Duration { session + .seconds(50) }

    /// What the service was told, for its audit.
    var rules: AuditRules {
        var rules = AuditRules(partitionCount: partitions, topicPrefix: prefix)
        if let duplicateWindow { rules.memoryWindow = Int64(duplicateWindow) * 1_000 }
        if let duplicateIDs { rules.memoryCount = duplicateIDs }
        return rules
    }

    /// How long an instance may take to end when it is asked to.
    var stopTimeout: Duration { network == nil ? .seconds(20) : recoveryTimeout }

    func topic(_ name: String) -> String { prefix + name }

    /// What every client of this process has in common.
    var client: KafkaConfiguration {
        KafkaConfiguration([
            "bootstrap.servers": bootstrapServers, "client.id": "torture", "reconnect.backoff.max.ms": "500",
        ])
    }

    /// A consumer that sees what is committed, from the first record on.
    var reader: KafkaConfiguration {
        client.merging([
            "group.id": group, "isolation.level": "read_committed", "enable.auto.commit": "false",
            "enable.partition.eof": "true", "auto.offset.reset": "error", "fetch.wait.max.ms": "50",
            "fetch.error.backoff.ms": "50",
        ])
    }
}

/// librdkafka's lines are not for people here: what matters comes back from the calls.
let silentHooks = ClientHooks(logger: Logger(label: "torture") { _ in SwiftLogNoOpLogHandler() })
