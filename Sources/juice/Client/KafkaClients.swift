import Foundation
import JuiceMessages
import Kafka
import Logging
import Synchronization

/// Creates the Kafka clients of the command-line tools, and turns their errors into messages for users.
///
/// It contacts no broker before a client is used. Create and use the clients on one thread, the main thread: their calls block.
struct KafkaClients: Sendable {
    /// Where the broker addresses come from.
    enum Origin: Sendable, Equatable {
        /// The settings.
        case configured
        /// A `juice serve` or `juice demo` of this user runs an embedded broker.
        case embedded(processID: Int32)
        /// The default address.
        case fallback
    }

    let bootstrapServers: String
    var origin = Origin.configured
    var topics = TopicNames()
    /// The user's librdkafka properties, which may contain secrets.
    var properties: [String: String] = [:]
    /// Receives librdkafka's log at level debug.
    let logger: Logger
    private let lastClientError = LastClientError()
}

extension KafkaClients {
    init(_ settings: Settings, runFiles: RunFiles = .ofThisUser()) throws(Failure) {
        let logger = try settings.logger(default: .warning)
        let (servers, origin): (String, Origin)
        let running = runFiles.live()
        if let configured = try settings[.bootstrapServers] {
            let embedded = running.first { $0.bootstrapServers == configured }
            (servers, origin) = (configured, embedded.map { .embedded(processID: $0.processID) } ?? .configured)
        } else if try settings[.requireBrokers] {
            throw Failure(
                .configuration, "no Kafka brokers are named",
                hint: "set JUICE_BOOTSTRAP_SERVERS to yours, such as kafka1:9092,kafka2:9092")
        } else if let running = running.first {
            (servers, origin) = (running.bootstrapServers, .embedded(processID: running.processID))
        } else {
            (servers, origin) = ("127.0.0.1:9092", .fallback)
        }
        let properties = try KafkaProperties.read(settings)
        try KafkaProperties.checkNames(properties)
        self.init(
            bootstrapServers: servers, origin: origin, topics: TopicNames(prefix: try settings[.topicPrefix]),
            properties: properties, logger: logger)
    }

    /// The broker features that clients can rely on.
    var capabilities: BrokerCapabilities {
        if case .embedded = origin { .embedded } else { .full }
    }
}

// MARK: - Clients

extension KafkaClients {
    /// Creates an idempotent producer that writes each record to the partition that owns its store, and each at once.
    ///
    /// - Parameter timeout: how long a record may take to be delivered, at least 1 s.
    func producer(timeout: Duration) throws(Failure) -> Producer {
        let milliseconds = max(1000, timeout / Duration.milliseconds(1))
        let configuration = KafkaConfiguration([
            // Delivery fails when the command times out.
            "message.timeout.ms": String(Int(milliseconds)),
            "linger.ms": "0",
        ])
        .merging(base.properties)
        .merging(["enable.idempotence": "true", "partitioner": "murmur2_random"])
        return try made(try Producer(configuration: configuration, hooks: hooks))
    }

    /// Creates a consumer that joins no group and by default reads only committed records.
    ///
    /// - Parameter isolation: librdkafka's `isolation.level`.
    func consumer(isolation: String = "read_committed") throws(Failure) -> Consumer {
        let configuration = KafkaConfiguration([
            "fetch.wait.max.ms": "\(capabilities.fetchWait)", "queued.max.messages.kbytes": "16384",
        ])
        .merging(base.properties)
        .merging([
            "group.id": "juice-cli", "enable.auto.commit": "false", "isolation.level": isolation,
            "enable.partition.eof": "true", "auto.offset.reset": "earliest",
        ])
        return try made(try Consumer(configuration: configuration, hooks: hooks))
    }

    /// A session of transactions under one transactional id, always the same. The caller has to initialise it.
    ///
    /// - Parameter topics: the topics' names. A record is produced to one by its index.
    func transactionSession(id: String, topics: [String]) -> TransactionSession {
        let configuration = KafkaConfiguration([
            "transaction.timeout.ms": "10000", "linger.ms": "0",
            // Let the broker enforce the limit.
            "message.max.bytes": "100000000",
        ]).merging(base.properties)
        // A record that arrived compressed may be too large without compression.
        return TransactionSession(
            ids: { _ in [id] }, topics: topics.map { ($0, ["compression.type": "zstd"]) },
            client: { [hooks] _ in (configuration, hooks) })
    }

    func admin() throws(Failure) -> Admin { try made(try Admin(configuration: base, hooks: hooks)) }

    /// Creates an admin client, and waits until a broker answers.
    func admin(reachedWithin timeout: Duration) throws(Failure) -> Admin {
        let admin = try admin()
        try reach(admin, deadline: Deadline(after: timeout))
        return admin
    }

    /// The configuration that all clients share.
    var base: KafkaConfiguration {
        KafkaConfiguration([
            "client.id": "juice-cli", "reconnect.backoff.max.ms": "1000",
            // A broker would create a missing topic with its own defaults; ours need specific settings.
            "allow.auto.create.topics": "false",
        ]).merging(properties).merging(["bootstrap.servers": bootstrapServers])
    }

    private var hooks: ClientHooks {
        // Permanent errors end the command with their own message; the rest of librdkafka's log is noise.
        var logger = logger
        if logger.logLevel > .debug { logger.logLevel = .critical }
        return ClientHooks(logger: logger, onError: { [lastClientError] in lastClientError.record($0) })
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
    func reach(_ client: some MetadataClient, deadline: Deadline) throws(Failure) {
        var timeout = Duration.seconds(2)
        while true {
            do throws(KafkaError) {
                _ = try client.metadata(topics: [], timeout: deadline.step(timeout))
                return
            } catch {
                if isRefused || deadline.isOver || error.remedy != .retry { throw failure(error) }
            }
            timeout *= 2
        }
    }

    /// Calls Kafka, and turns an error into a message for the user.
    func ask<Answer>(_ call: @autoclosure () throws(KafkaError) -> Answer) throws(Failure) -> Answer {
        do throws(KafkaError) { return try call() } catch { throw failure(error) }
    }

    /// Asks with a consumer, and again while the error is one that passes: a new topic may not have leaders yet.
    func ask<Answer>(
        _ consumer: Consumer, until deadline: Deadline, _ call: () throws(KafkaError) -> Answer
    ) throws(Failure) -> Answer {
        while true {
            do throws(KafkaError) {
                return try call()
            } catch {
                guard error.remedy == .retry, !deadline.isOver else { throw failure(error) }
                _ = try? consumer.poll(maxRecords: 1, timeout: deadline.step(.milliseconds(50)))
            }
        }
    }

    /// The message for the user that explains a Kafka error.
    func failure(_ error: KafkaError) -> Failure {
        switch error.code {
        case .unknownTopicOrPartition, .unknownTopic, .unknownPartition:
            Failure(
                .configuration, "the topics do not exist: \(error.message)",
                hint: "`juice topics create` creates them, `juice topics check` shows what is missing")
        case .invalidArgument: Failure(.configuration, error.message)
        case _ where error.code.isDenial:
            Failure(.software, error.description, hint: "docs/SECURITY.md lists the permissions that each command needs")
        case _ where error.remedy == .retry || error.code == .timedOut || lastClientError.value != nil: unavailable
        default: Failure(.software, error.description)
        }
    }

    /// Whether the brokers refuse this client's configuration, for example its credentials.
    private var isRefused: Bool { lastClientError.value?.code.isRefusal ?? false }

    /// The failure when no broker answers, with the most specific hint.
    var unavailable: Failure {
        let last = lastClientError.value
        if isRefused { return Failure(.unavailable, "no connection to \(bootstrapServers): \(last?.message ?? "")") }
        let hint: String? =
            switch origin {
            case .configured: last?.suspectsConfiguration ?? false ? last?.message : nil
            case .embedded(let processID): "it should be the embedded broker of process \(processID)"
            case .fallback: "set --bootstrap-servers, or start an embedded broker with `juice serve`"
            }
        return Failure(.unavailable, "no Kafka broker answers at \(bootstrapServers)", hint: hint)
    }
}

/// The last error that librdkafka reported. Its threads call ``record(_:)``.
private final class LastClientError: Sendable {
    private let mutex = Mutex<KafkaError?>(nil)

    var value: KafkaError? { mutex.withLock { $0 } }

    func record(_ error: KafkaError) {
        mutex.withLock { last in
            // Keep a refusal or a suspected misconfiguration: the broken connections that follow say less.
            if let last, last.code.isRefusal || last.suspectsConfiguration && !error.code.isRefusal { return }
            last = error
        }
    }
}
