import Foundation
import JuiceAudit
import Kafka
import Logging

/// The configuration of a run, from the command line.
struct Plan: Sendable {
    let bootstrapServers: String
    let rounds: Int
    let brokerRestart: String?
    /// The shell command that stops, kills and starts a broker.
    let brokerCommand: String?
    let instances: Int
    let clients: Int
    /// Commands per second.
    let rate: Double
    let stores: Int
    let partitions: Int
    let session: Duration
    /// In seconds.
    let duplicateWindow: Int?
    let duplicateIDs: Int?
    let seed: UInt64
    let juice: URL
    /// An earlier version, with which a rolling restart begins.
    let juiceBefore: URL?
    let isPlain: Bool
    let isRolling: Bool
    /// The faults in the service's requests; nil is none.
    let network: NetworkPlan?
    let keeps: Bool
    /// The prefix of the names of this run's topics, group and folder.
    let prefix = "juice-torture-\(UInt32.random(in: 1_000..<1_000_000))."

    var group: String { prefix + "group" }

    /// Long enough for the session and then a transaction of a dead instance to time out.
    var recoveryTimeout: Duration { session + .seconds(50) }

    /// The service's settings, for the audit.
    var rules: AuditRules {
        var rules = AuditRules(partitionCount: partitions, topicPrefix: prefix)
        if juiceBefore != nil { rules.versions = .alsoOlder }
        if let duplicateWindow { rules.memoryWindow = Int64(duplicateWindow) * 1_000 }
        if let duplicateIDs { rules.memoryCount = duplicateIDs }
        return rules
    }

    /// How long an instance may take to end on SIGTERM.
    var stopTimeout: Duration { network == nil ? .seconds(20) : recoveryTimeout }

    func topic(_ name: String) -> String { prefix + name }

    /// The configuration that all clients of this process share.
    var client: KafkaConfiguration {
        KafkaConfiguration([
            "bootstrap.servers": bootstrapServers, "client.id": "torture",
            // What is measured is the service, not how these clients find a new leader.
            "reconnect.backoff.max.ms": "250", "topic.metadata.refresh.fast.interval.ms": "50",
        ])
    }

    /// The configuration of a consumer that reads committed records from the start.
    var reader: KafkaConfiguration {
        client.merging([
            "group.id": group, "isolation.level": "read_committed", "enable.auto.commit": "false",
            "enable.partition.eof": "true", "auto.offset.reset": "error", "fetch.wait.max.ms": "50",
            "fetch.error.backoff.ms": "50",
        ])
    }
}

/// Discards librdkafka's log: the calls report all relevant errors.
let silentHooks = ClientHooks(logger: Logger(label: "torture") { _ in SwiftLogNoOpLogHandler() })
