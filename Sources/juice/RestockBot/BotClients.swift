import JuiceService
import Kafka
import Logging

/// Makes the bot's Kafka clients.
struct BotClients {
    let connection: Connection
    let plan: RestockBotPlan
    /// Whether the cluster can be reached, told in one line per change.
    let watch: BrokerWatch
    let logger: Logger

    init(_ connection: Connection, _ plan: RestockBotPlan, logger: Logger) {
        self.connection = connection
        self.plan = plan
        self.logger = logger
        watch = BrokerWatch(bootstrapServers: connection.bootstrapServers, logger: logger)
    }

    /// The consumer that takes part in the bots' group.
    ///
    /// It is no static member: whoever starts the same command twice on one host has two members of the group.
    func groupConsumer() throws(Failure) -> Consumer {
        let configuration = reading([
            // A dead bot's partitions are another's after the session timeout.
            "session.timeout.ms": "10000",
            "heartbeat.interval.ms": "1000",
            "max.poll.interval.ms": "60000",
        ])
        .merging([
            "group.id": plan.group, "partition.assignment.strategy": "range", "auto.offset.reset": "error",
        ])
        // Only this client is polled all the time. What the others notice would be told when it is long over.
        let hooks = ClientHooks(logger: logger, logCeiling: .info, onError: { [watch] in watch.noticed($0) })
        return try connection.made { () throws(KafkaError) in
            try Consumer(configuration: configuration, hooks: hooks)
        }
    }

    /// A consumer that reads on its own and knows what the service's group has committed.
    func reader() throws(Failure) -> Consumer {
        try consumer(reading().merging(["group.id": plan.serviceGroup]))
    }

    /// A consumer that sees the true ends of logs, past undecided transactions, and the notes at offsets about which one is
    /// undecided.
    func logEnds() throws(Failure) -> Consumer {
        try consumer(
            reading().merging(["group.id": plan.group, "isolation.level": "read_uncommitted"])
        )
    }

    /// A producer that must be initialised, under a transactional id.
    func producer(id: String) throws(KafkaError) -> TransactionalProducer {
        let configuration = KafkaConfiguration(["transaction.timeout.ms": "10000", "linger.ms": "0"])
            .merging(connection.base.properties)
            .merging(["transactional.id": id])
        return try TransactionalProducer(configuration: configuration, hooks: hooks)
    }

    /// Asks the cluster for something small, to know whether it answers.
    func probe(_ consumer: Consumer) {
        do throws(KafkaError) {
            _ = try consumer.metadata(topics: [connection.topics.results], timeout: .milliseconds(500))
            watch.reached()
        } catch {
            watch.failed(error)
        }
    }

    private var hooks: ClientHooks { ClientHooks(logger: logger, logCeiling: .info) }

    private func consumer(_ configuration: KafkaConfiguration) throws(Failure) -> Consumer {
        try connection.made { () throws(KafkaError) in
            try Consumer(configuration: configuration, hooks: hooks)
        }
    }

    private func reading(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration([
            // The embedded broker answers an empty fetch only when its wait is over.
            "fetch.wait.max.ms": connection.isEmbedded ? "10" : "100",
            "queued.max.messages.kbytes": "16384",
        ])
        .merging(properties)
        .merging(connection.base.properties)
        .merging([
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "earliest",
        ])
    }
}
