import JuiceEngine
import JuiceMaker
import JuiceMessages
import Kafka

/// Everything the service needs to know to run.
public struct ServiceConfiguration: Sendable {
    /// `host:port` pairs, separated by commas.
    public var bootstrapServers: String
    /// The consumer group: instances of one group share the work.
    public var group: String
    /// Names this instance within its group. Stable over restarts, and different for each running instance.
    public var instanceID: String
    /// Loops run in this process, each with its own thread, consumer and producers.
    public var workers: Int
    /// The topics.
    public var topics: TopicNames
    /// Fruits and juices.
    public var menu: Menu
    /// The language of the messages in answers.
    public var language: Language
    /// More librdkafka properties for every client; they win over the service's own, except over those that
    /// exactly-once processing rests on.
    public var kafkaProperties: [String: String]
    /// What the brokers can do.
    public var capabilities: BrokerCapabilities
    /// The most commands in one transaction. What a transaction costs by itself, some milliseconds of librdkafka's and the
    /// broker's, is shared by so many under load; besides the duplicate window's 1,000,000 commands they just fit into a
    /// memory of 2^20.
    public var maxBatch: Int
    /// How long repeats of a command are known.
    public var duplicateWindow: DuplicateWindow

    /// A configuration; only where the broker is and the instance's name have no default.
    public init(
        bootstrapServers: String,
        group: String = "juice-maker",
        instanceID: String,
        workers: Int = 1,
        topics: TopicNames = TopicNames(),
        menu: Menu = .standard,
        language: Language = .english,
        kafkaProperties: [String: String] = [:],
        capabilities: BrokerCapabilities = .full,
        maxBatch: Int = 40_000,
        duplicateWindow: DuplicateWindow = .standard
    ) {
        self.bootstrapServers = bootstrapServers
        self.group = group
        self.instanceID = instanceID
        self.workers = workers
        self.topics = topics
        self.menu = menu
        self.language = language
        self.kafkaProperties = kafkaProperties
        self.capabilities = capabilities
        self.maxBatch = maxBatch
        self.duplicateWindow = duplicateWindow
    }
}

// MARK: - Clients

extension ServiceConfiguration {
    /// The same, with clients that tell their statistics every few seconds.
    var withStatistics: ServiceConfiguration {
        var configuration = self
        configuration.kafkaProperties.merge(["statistics.interval.ms": "5000"]) { own, _ in own }
        return configuration
    }
}

extension ServiceConfiguration {
    /// Properties on which exactly-once processing rests; a user's value for one of them is refused.
    public static let reservedProperties: Set<String> = [
        "bootstrap.servers", "metadata.broker.list", "group.id", "group.instance.id", "transactional.id",
        "isolation.level", "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset",
        "partition.assignment.strategy", "enable.partition.eof", "enable.idempotence", "acks",
        "request.required.acks",
        // When a request is sent again, and that its connection is closed before: see LateRequestGuard.
        "retry.backoff.ms", "socket.max.fails",
    ]

    /// What every client has in common.
    var client: KafkaConfiguration {
        KafkaConfiguration([
            "client.id": "juice-maker-\(instanceID)",
            // A topic that is missing must be made as it has to be, not as a broker thinks fit.
            "allow.auto.create.topics": "false",
            // A broker that comes back is found within a second.
            "reconnect.backoff.max.ms": "1000",
        ])
        .merging(kafkaProperties)
        .merging(["bootstrap.servers": bootstrapServers])
    }

    /// The consumer that takes part in the group.
    func groupConsumer(worker: Int) -> KafkaConfiguration {
        KafkaConfiguration([
            // A dead instance's partitions are taken over after the session timeout. But a session that ends before brokers
            // replace a dead coordinator (9 s, and what it takes to find and load) costs every member its membership. The
            // others hear of a dead one with their next heartbeat, so these are frequent.
            "session.timeout.ms": "15000",
            "heartbeat.interval.ms": "500",
            // A worker that is held up by an outage must not hold up the others' rebalance for the default 5 minutes.
            "max.poll.interval.ms": "60000",
            // A topic that a broker did not know for a moment is subscribed to again within this time.
            "topic.metadata.refresh.interval.ms": "10000",
            // librdkafka keeps some 500 bytes per record it holds ready. Two transactions ahead are enough, since
            // the log asks for more as soon as it takes a full one.
            "queued.min.messages": "80000",
            "queued.max.messages.kbytes": "16384",
            "fetch.message.max.bytes": "524288",
        ])
        .merging(capabilities.answersFetchesEarly ? [:] : ["fetch.wait.max.ms": "\(capabilities.fetchWait)"])
        .merging(client.properties)
        .merging([
            "group.id": group,
            "group.instance.id": "\(instanceID)-\(worker)",
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "isolation.level": "read_committed",
            "partition.assignment.strategy": "range",
            // The end tells of markers, which no record does.
            "enable.partition.eof": "true",
            // Where an offset is missing, commands are missing: never skip on by itself.
            "auto.offset.reset": "error",
        ])
    }

    /// The consumer that reads the changelog at assignment.
    var changelogConsumer: KafkaConfiguration {
        KafkaConfiguration([
            // Each partition is read to its end, and the end is only reported after a fetch has waited there.
            "fetch.wait.max.ms": "10",
            // Whoever restores answers nobody: large pieces, and enough of them that the reader never waits.
            "fetch.message.max.bytes": "4194304",
            "queued.min.messages": "400000",
            "queued.max.messages.kbytes": "32768",
        ])
        .merging(client.properties)
        .merging([
            "group.id": group,
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "earliest",
        ])
    }

    /// A consumer that sees the true ends of logs, past undecided transactions.
    var logEndConsumer: KafkaConfiguration {
        changelogConsumer.merging([
            "isolation.level": "read_uncommitted",
            // It reads a few records of each partition, however many follow.
            "fetch.message.max.bytes": "65536",
        ])
    }

    /// A worker has two producers, used in turn.
    static let producerIndices = 0...1

    /// What the names of all workers of this group begin with.
    var ownerPrefix: String { "\(group)/" }

    /// Names a worker among all of its group.
    func ownerName(worker: Int) -> String { "\(ownerPrefix)\(instanceID)/\(worker)" }

    /// One of the two producers of the worker of that name.
    func producer(owner: String, index: Int) -> KafkaConfiguration { producer(id: "\(owner)/\(index)") }

    /// The producer of that transactional id.
    func producer(id: String) -> KafkaConfiguration {
        KafkaConfiguration([
            "transaction.timeout.ms": "10000",
            // Holds the answers and stock records of the largest batch.
            "queue.buffering.max.messages": "500000",
            // While partitions are being added to the transaction, what was produced first is already on its way. Without
            // any wait, each record would be a request of its own.
            "linger.ms": "0.5",
            // Dead letters quote whatever the input topics took; the broker's limit is the one that counts.
            "message.max.bytes": "100000000",
        ])
        .merging(client.properties)
        .merging(["transactional.id": id])
    }
}

// MARK: - Validation

extension ServiceConfiguration {
    /// - Throws: ``ServiceError/badConfiguration(_:)`` naming the first setting that cannot be.
    func validate() throws(ServiceError) {
        if let name = kafkaProperties.keys.sorted().first(where: Self.reservedProperties.contains) {
            throw .badConfiguration(
                "Kafka property \"\(name)\" is not yours to set: exactly-once processing rests on it"
            )
        }
        guard workers >= 1 else { throw .badConfiguration("there must be at least 1 worker") }
        guard maxBatch >= 1 else { throw .badConfiguration("a batch holds at least 1 command") }
        guard duplicateWindow.age >= 0, (0...100_000_000).contains(duplicateWindow.count) else {
            throw .badConfiguration(
                "the duplicate window is from 0 to 100,000,000 commands, of no negative age"
            )
        }
        guard !group.isEmpty else { throw .badConfiguration("the group needs a name") }
        // It stands between two of them in transactional ids, which must not be another instance's by accident.
        guard !instanceID.isEmpty, !instanceID.contains("/") else {
            throw .badConfiguration("the instance needs an id, without \"/\"")
        }
    }
}

extension ServiceConfiguration: CustomStringConvertible, CustomReflectable {
    /// The settings in one line, with secrets hidden.
    public var description: String {
        "group \(group), instance \(instanceID), workers \(workers), \(client)"
    }

    /// Nothing, so that no dump shows a secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
