import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka

package struct ServiceConfiguration: Sendable {
    /// `host:port` pairs, separated by commas.
    package var bootstrapServers: String
    /// The consumer group. The instances of one group share the work.
    package var group: String
    /// The instance's name within its group: the same after a restart, and different from every other running instance's.
    package var instanceID: String
    /// How many workers this process runs, each with its own thread, consumer and producers.
    package var workers: Int
    package var topics: TopicNames
    /// The fruits and juices that stores know.
    package var menu: Menu
    /// The only stores in which commands are carried out; nil allows any.
    package var stores: ByteKeyTable?
    /// The language of the messages in answers.
    package var language: Language
    /// librdkafka properties for every client. They override the service's own, except those in ``reservedProperties``.
    package var kafkaProperties: [String: String]
    package var capabilities: BrokerCapabilities
    /// How long, and up to how many, commands are remembered to detect repeats.
    package var duplicateWindow = DuplicateWindow.standard
    /// How long a transaction waits after the beginning of the last one, for commands to share it with.
    package var commitInterval = Duration.zero
    /// Whether to start even if another group serves the topics. That group's instances then end.
    package var takesOver = false
    /// Whether a start creates missing topics.
    package var createsTopics = false
    /// Whether a start is only rehearsed, for `juice serve --dry-run`: it tries what the service may write, and expects no members.
    package var isRehearsal = false
    /// How many files the process may have open, sockets and pipes included.
    package var openFiles = Int.max
    /// How long a start waits for what may still change, such as missing topics or another group's instances. Only tests change it.
    var patience = Duration.seconds(60)
    /// How long a call may wait for a broker before the worker makes it again. Only tests change it.
    var callTimeout = Duration.seconds(1)
    /// How long a right may be missing, and a coordinator silent while brokers answer. Only tests change them.
    var (denialPatience, silencePatience) = (Duration.seconds(60), Duration.seconds(30))

    /// The most commands in one transaction. Under load they share its fixed cost, some milliseconds in librdkafka and the broker.
    /// Together with the duplicate window's 1,000,000 commands, they just fit into a table of 2^20 commands.
    package static let maxBatch = 40_000

    package init(
        bootstrapServers: String, group: String = "juice-maker", instanceID: String, workers: Int = 1,
        topics: TopicNames = TopicNames(), menu: Menu = .standard, language: Language = .english,
        kafkaProperties: [String: String] = [:], capabilities: BrokerCapabilities = .full
    ) {
        (self.bootstrapServers, self.group, self.instanceID, self.workers) = (bootstrapServers, group, instanceID, workers)
        (self.topics, self.menu, self.language) = (topics, menu, language)
        (self.kafkaProperties, self.capabilities) = (kafkaProperties, capabilities)
    }

    // MARK: - Clients

    /// The same configuration, with clients that also try the brokers that the cluster has named, as `host:port`: the ones in
    /// ``bootstrapServers`` may be those that fail.
    func knowing(brokers: [String]) -> ServiceConfiguration {
        let given = bootstrapServers.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        // IPv6 addresses would need brackets.
        let others = brokers.filter { broker in !given.contains(broker) && broker.count { $0 == ":" } == 1 }
        var configuration = self
        configuration.bootstrapServers = ([bootstrapServers] + others).joined(separator: ",")
        return configuration
    }

    /// Properties that exactly-once processing depends on; a user's value for one of them is refused.
    package static let reservedProperties: Set<String> = [
        "bootstrap.servers", "metadata.broker.list", "group.id", "group.instance.id", "transactional.id",
        "isolation.level", "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset",
        "partition.assignment.strategy", "group.protocol", "group.remote.assignor", "enable.partition.eof", "enable.idempotence",
        "acks", "request.required.acks",
        "check.crcs",
    ]

    var client: KafkaConfiguration {
        KafkaConfiguration([
            "client.id": "juice-maker-\(instanceID)",
            // A missing topic must be created with the right configuration, not with a broker's defaults.
            "allow.auto.create.topics": "false",
            // A broker that comes back is found within a second.
            "reconnect.backoff.max.ms": "1000",
        ]).merging(kafkaProperties).merging(["bootstrap.servers": bootstrapServers])
    }

    /// The consumer that is a member of the group.
    func groupConsumer(worker: Int) -> KafkaConfiguration {
        KafkaConfiguration([
            // A dead instance's partitions are reassigned after the session timeout (KIP-345). But the session must outlive the
            // replacement of a dead coordinator (9 s, plus finding and loading the new one), or every member loses its membership.
            // Nor may another member get a frozen process's partitions before that process would look again (see
            // WorkerSettings.longestUnchecked). Members learn of a rebalance with their next heartbeat, so heartbeats are frequent.
            "session.timeout.ms": "15000", "heartbeat.interval.ms": "500",
            // A worker held up by an outage must not delay the others' rebalance for the default of 5 minutes.
            "max.poll.interval.ms": "60000",
            // If a broker briefly does not know a topic, the topic is subscribed to again within this time.
            "topic.metadata.refresh.interval.ms": "10000",
            // librdkafka uses some 500 bytes for each queued record. Two transactions' worth is enough, since the port makes it
            // fetch on as soon as a poll returns a full batch.
            "queued.min.messages": "80000", "queued.max.messages.kbytes": "16384", "fetch.message.max.bytes": "524288",
        ])
        .merging(capabilities.consumerProperties).merging(client.properties)
        .merging([
            "group.id": group, "group.instance.id": "\(instanceID)-\(worker)",
            "enable.auto.commit": "false", "enable.auto.offset.store": "false", "isolation.level": "read_committed",
            "partition.assignment.strategy": "range",
            // The end of a partition reveals markers. Records do not.
            "enable.partition.eof": "true",
            // If an offset is missing, commands are missing: never skip them silently.
            "auto.offset.reset": "error",
        ])
    }

    /// The consumer that reads the changelog at assignment.
    var changelogConsumer: KafkaConfiguration {
        KafkaConfiguration(capabilities.consumerProperties).merging([
            // Each partition is read to its end, which is reported only after a fetch has waited there. Brokers answer a
            // connection's requests one after the other, so a dozen lookups wait for such a fetch, too.
            "fetch.wait.max.ms": "1",
            // A worker that restores answers no commands: fetch large pieces, and enough of them to keep the reader busy.
            "fetch.message.max.bytes": "4194304", "queued.min.messages": "400000", "queued.max.messages.kbytes": "32768",
        ])
        .merging(client.properties)
        .merging([
            "enable.auto.commit": "false", "enable.auto.offset.store": "false", "isolation.level": "read_committed",
            "enable.partition.eof": "true", "auto.offset.reset": "earliest",
        ])
    }

    /// A consumer that sees the true end of a log, past undecided transactions.
    var logEndConsumer: KafkaConfiguration {
        changelogConsumer.merging([
            "isolation.level": "read_uncommitted",
            // It reads only a few records of each partition.
            "fetch.message.max.bytes": "65536",
        ])
    }

    /// The instance in the transactional ids of anchors.
    static let anchorInstance = "anchor"
    /// The transactional id with which a start checks its rights. It is the instance's own, so several instances may start at once.
    var checkID: String { "\(group)/\(instanceID)/check" }

    /// Identifies this process in claims.
    private static let process = String(UInt32.random(in: 0 ... .max), radix: 16)

    /// How many sets of producers a worker uses in turn: few, since brokers remember each id for a week, but several, since an id
    /// whose transaction cannot be ended must not stop the worker.
    static let producerSets = 8

    /// The transactional ids of one of a worker's producer sets. Its two producers are used in turn: after a commit the broker is
    /// still writing markers, and librdkafka 2.0.2 waits 100 ms before it asks again.
    func transactionalIDs(worker: Int, set: Int) -> [String] {
        (0...1).map { "\(group)/\(instanceID)/\(worker)/\(set)/\($0)" }
    }

    /// A worker's producer, without its transactional id.
    var producer: KafkaConfiguration {
        KafkaConfiguration([
            "transaction.timeout.ms": "10000",
            // Holds the answers and stock records of the largest batch.
            "queue.buffering.max.messages": "500000",
            // A dead letter quotes a record of any size that the input topics accept; the broker's limit decides.
            "message.max.bytes": "100000000",
        ]).merging(client.properties)
    }

    /// Properties with which a producer writes to a topic.
    func producerProperties(of topic: Topic) -> [String: String] {
        switch topic {
        // A record that arrived compressed may be too large to be forwarded, or written as a dead letter, uncompressed.
        case .orders, .restocks, .deadLetters: ["compression.type": "zstd"]
        case .results, .stock: [:]
        }
    }

    // MARK: - Parts

    var topicCheck: TopicCheck {
        TopicCheck(
            names: topics, bootstrapServers: bootstrapServers, capabilities: capabilities, duplicateWindow: duplicateWindow)
    }

    /// The engine's settings.
    ///
    /// - Parameters:
    ///   - partitionCount: the number of partitions that hold stores.
    ///   - instance: the name for claims and anchors; nil uses ``instanceID``.
    ///   - findings: what the topics' settings require of a worker that writes.
    func workerSettings(partitionCount: Int32, instance: String? = nil, findings: TopicCheck.Findings? = nil) -> WorkerSettings {
        // On the embedded broker no other process takes partitions over, and sessions may be shorter than brokers accept.
        let session = capabilities == .embedded ? nil : groupConsumer(worker: 0)["session.timeout.ms"].flatMap(Timestamp.init)
        return WorkerSettings(
            menu: menu, language: language, stores: stores, topics: topics, partitionCount: partitionCount, group: group,
            instance: instance ?? instanceID, process: Self.process, window: duplicateWindow, maxBatch: Self.maxBatch,
            commitInterval: Timestamp(commitInterval / .milliseconds(1)), noteInterval: findings?.noteInterval ?? 24 * 3_600_000,
            oldestForward: findings?.oldestForward,
            times: findings?.times ?? CommandTimes(), session: session ?? 15_000)
    }

    // MARK: - Validation

    /// The most connections that the process may briefly have to one broker.
    var mostConnections: Int { 1 + workers * 12 }

    /// - Parameter brokers: how many brokers the cluster has, as far as is known.
    /// - Throws: ``ServiceError/badConfiguration(_:)`` naming the first invalid setting.
    package func validate(brokers: Int = 1) throws(ServiceError) {
        // Measured with librdkafka 2.0.2: during a takeover a worker has some seven clients, each with a pipe and a socket per
        // broker and coordinator. The embedded broker has the other ends. The HTTP server may take an eighth of all files.
        let needed = (40 + workers * (30 + 30 * brokers * (capabilities == .embedded ? 2 : 1))) * 8 / 7
        guard openFiles >= needed else {
            throw .badConfiguration(
                "the process may open \(openFiles) files, but \(workers.counted("worker")) and \(brokers.counted("broker")) need"
                    + " \(needed): raise the limit (ulimit -n, or LimitNOFILE= in a systemd unit)")
        }
        if let name = kafkaProperties.keys.sorted().first(where: Self.reservedProperties.contains) {
            throw .badConfiguration("Kafka property \"\(name)\" is not yours to set: exactly-once processing rests on it")
        }
        guard !group.isEmpty else { throw .badConfiguration("the group needs a name") }
        // Transactional ids contain it between two slashes, and must not equal another instance's by accident.
        guard !instanceID.isEmpty, !instanceID.contains("/") else {
            throw .badConfiguration("the instance needs an id, without \"/\"")
        }
        guard instanceID != Self.anchorInstance else {
            throw .badConfiguration("\"\(instanceID)\" is a name under which `juice anchor` writes; choose another instance id")
        }
    }
}

extension ServiceConfiguration: CustomStringConvertible, CustomReflectable {
    /// The settings on one line, with secrets hidden.
    package var description: String {
        "group \(group), instance \(instanceID), workers \(workers), \(client)"
    }

    /// Empty, so that no dump shows a secret.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
