import Foundation
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging
import Synchronization

/// Creates the Kafka clients of the command-line tools, and turns their errors into messages for users.
///
/// It contacts no broker before a client is used. Create and use the clients on one thread, the main thread: their calls block.
struct KafkaClients: Sendable {
    let bootstrapServers: String
    /// The broker features that clients can rely on.
    let capabilities: BrokerCapabilities
    let topics: TopicNames
    var timeout: Duration
    /// The user's librdkafka properties, which may contain secrets.
    let properties: [String: String]
    /// Logs when no broker answers. Receives librdkafka's log at level debug.
    let logger: Logger
    /// Learns from all clients why no broker answers.
    let watch: BrokerWatch

    /// The broker address to try if none is given.
    private static let standardAddress = "127.0.0.1:9092"
    /// The client id in brokers' logs and quotas.
    private static let standardID = "juice-cli"

    init(
        bootstrapServers: String, capabilities: BrokerCapabilities = .full, topics: TopicNames = TopicNames(),
        properties: [String: String] = [:], timeout: Duration = .seconds(10), logger: Logger
    ) {
        (self.bootstrapServers, self.capabilities, self.topics) = (bootstrapServers, capabilities, topics)
        (self.properties, self.timeout, self.logger) = (properties, timeout, logger)
        watch = BrokerWatch(bootstrapServers: bootstrapServers, logger: logger)
    }

    init(_ options: ClientOptions) throws(Failure) {
        try self.init(options.kafka, timeout: options.timeout, logger: options.general.logger())
    }

    init(_ options: KafkaOptions, timeout: Duration = .seconds(10), logger: Logger) throws(Failure) {
        let (configured, runFiles) = (options.bootstrapServers, RunFiles.ofThisUser())
        if configured == nil, options.requireBrokers {
            throw Failure(
                .configuration, "no Kafka brokers are named",
                hint: "set JUICE_BOOTSTRAP_SERVERS to yours, such as kafka1:9092,kafka2:9092")
        }
        let servers = configured ?? runFiles.live().first ?? Self.standardAddress
        self.init(
            bootstrapServers: servers, capabilities: runFiles.hasBroker(at: servers) ? .embedded : .full,
            topics: TopicNames(prefix: options.topicPrefix), properties: try KafkaProperties.read(options), timeout: timeout,
            logger: logger)
    }

    /// The configuration of a service on these brokers, with the settings that all commands share.
    func service(group: String, instanceID: String, menu: Menu) -> ServiceConfiguration {
        ServiceConfiguration(
            bootstrapServers: bootstrapServers, group: group, instanceID: instanceID, topics: topics, menu: menu,
            kafkaProperties: properties, capabilities: capabilities)
    }

    var deadline: Deadline { Deadline(after: timeout) }

    var topicCheck: TopicCheck { TopicCheck(names: topics, bootstrapServers: bootstrapServers, capabilities: capabilities) }
}

// MARK: - Clients

extension KafkaClients {
    /// Creates an idempotent producer. It writes each record at once, to the partition that owns the record's store.
    ///
    /// - Parameter timeout: how long a record may take to be delivered, at least 1 s.
    func producer(timeout: Duration) throws(Failure) -> Producer {
        // Delivery fails when the command times out.
        try made(try Producer(configuration: sending(timeout: timeout), hooks: hooks))
    }

    func sending(as clientID: String = standardID, timeout: Duration) -> KafkaConfiguration {
        let milliseconds = Int(max(1000, timeout / Duration.milliseconds(1)))
        return KafkaConfiguration(["message.timeout.ms": String(milliseconds), "linger.ms": "0"])
            .merging(base(as: clientID).properties).merging(["enable.idempotence": "true", "partitioner": "murmur2_random"])
    }

    /// Creates a consumer that joins no group and by default reads only committed records.
    func consumer(isolation: String = "read_committed", reset: String = "earliest") throws(Failure) -> Consumer {
        let own = ["isolation.level": isolation, "auto.offset.reset": reset]
        return try made(try Consumer(configuration: reading().merging(own), hooks: hooks))
    }

    func reading(as clientID: String = standardID) -> KafkaConfiguration {
        KafkaConfiguration(["queued.max.messages.kbytes": "16384"])
            .merging(capabilities.consumerProperties).merging(base(as: clientID).properties)
            .merging([
                "enable.auto.commit": "false", "enable.auto.offset.store": "false", "isolation.level": "read_committed",
                "enable.partition.eof": "true", "auto.offset.reset": "earliest",
            ])
    }

    func admin() throws(Failure) -> Admin { try made(try Admin(configuration: base(), hooks: hooks)) }

    /// Creates an admin client, and waits until a broker answers.
    func reachedAdmin() throws(Failure) -> Admin {
        let admin = try admin()
        try reach(admin)
        return admin
    }

    func base(as clientID: String = standardID) -> KafkaConfiguration {
        KafkaConfiguration([
            "client.id": clientID, "reconnect.backoff.max.ms": "1000",
            // A broker would create a missing topic with its own defaults; ours need specific settings.
            "allow.auto.create.topics": "false",
        ]).merging(properties).merging(["bootstrap.servers": bootstrapServers])
    }

    var hooks: ClientHooks {
        // Permanent errors end the command with their own message; the rest of librdkafka's log is noise.
        var logger = logger
        if logger.logLevel > .debug { logger.logLevel = .critical }
        return ClientHooks(logger: logger, onError: watch.noticed)
    }

    /// Creates a client. If librdkafka refuses the configuration, the user has to fix it.
    private func made<Client>(_ client: @autoclosure () throws(KafkaError) -> Client) throws(Failure) -> Client {
        do throws(KafkaError) { return try client() } catch { throw Failure(.configuration, error.message) }
    }
}

// MARK: - Brokers that do not answer, and errors

extension KafkaClients {
    /// Waits until a broker answers.
    ///
    /// librdkafka retries a refused connection until the timeout, but retrying does not fix a wrong password. A slow broker gets
    /// more time with each attempt.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable``; early if the connection is refused.
    func reach(_ client: some MetadataClient) throws(Failure) {
        let deadline = deadline
        var timeout = Duration.seconds(2)
        while true {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: deadline.step(timeout))
                return watch.reached()
            } catch {
                guard error.remedy == .retry else { throw failure(error) }
                if deadline.isOver || watch.fault?.code.isRefusal ?? false { throw unavailable }
                watch.failed()
            }
            timeout *= 2
        }
    }

    func call<Answer>(_ call: @autoclosure () throws(KafkaError) -> Answer) throws(Failure) -> Answer {
        do throws(KafkaError) { return try call() } catch { throw failure(error) }
    }

    /// Looks something up, and retries transient errors: a new topic has no leaders for a moment.
    ///
    /// - Parameters:
    ///   - client: a client that the lookup uses; nil if it has none that can be asked for metadata.
    ///   - lookup: receives the time that is left.
    func ask<Answer>(
        _ client: (any MetadataClient)?, _ lookup: (_ timeout: Duration) throws(KafkaError) -> Answer
    ) throws(Failure) -> Answer {
        let deadline = deadline
        while true {
            do throws(KafkaError) {
                return try lookup(deadline.remaining)
            } catch {
                // Runs the client's hooks: the error that they report to the watch says more than a timeout.
                _ = try? client?.metadata(topics: [], timeout: .zero)
                guard error.remedy == .retry, !deadline.isOver else { throw failure(error) }
                Thread.sleep(forTimeInterval: deadline.step(.milliseconds(50)) / .seconds(1))
            }
        }
    }

    /// How many partitions a topic has. A producer would wait for a topic that does not exist; this throws.
    func partitionCount(of topic: String, asking client: some MetadataClient) throws(Failure) -> Int {
        try ask(client) { timeout throws(KafkaError) in
            let description = try client.metadata(topics: [topic], timeout: timeout).topics.first
            if let error = description?.error { throw error }
            return description?.partitionCount ?? 0
        }
    }

    /// The message for the user that explains a Kafka error. After a timeout it asks whether a broker answers at all.
    func failure(_ error: KafkaError) -> Failure {
        switch error.code {
        case _ where error.code.isMissing:
            Failure(
                .configuration, "the service's topics are not complete: \(error.message)",
                hint: "`juice topics check` shows what is missing, or which --topic-prefix has topics")
        case .invalidArgument: Failure(.configuration, error.message)
        case _ where error.code.isRefusalOfSetting: Failure(.configuration, error.description)
        case _ where error.code.isDenial:
            Failure(
                .software, error.description, hint: "kafka-acls.sh --add grants it: docs/SECURITY.md lists what each command needs")
        case _ where error.remedy == .retry || error.code == .timedOut || error.code == .messageTimedOut:
            error.code.isFromBroker || (try? admin().metadata(topics: [], timeout: .seconds(1))) != nil ? late(error) : unavailable
        default: Failure(.software, error.description)
        }
    }

    /// The failure when a broker answers, but not every request, for example because its address for clients cannot be reached.
    private func late(_ error: KafkaError) -> Failure {
        let isReachable = watch.fault == nil || error.code.isFromBroker
        return Failure(
            .unavailable,
            "Kafka answers at \(bootstrapServers), but not all in time: \(isReachable ? error.description : watch.reason)",
            hint: isReachable ? "a longer --timeout may help" : "a broker's address for clients is in its advertised.listeners")
    }

    /// The failure when no broker answers, with the reason and the most specific hint.
    private var unavailable: Failure {
        let hint = "set --bootstrap-servers, or start an embedded broker with `juice serve`"
        return Failure(.unavailable, watch.explanation, hint: bootstrapServers == Self.standardAddress ? hint : nil)
    }
}
