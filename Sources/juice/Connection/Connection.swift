import Foundation
import JuiceService
import Kafka
import Logging
import Synchronization

/// How a client command reaches Kafka.
///
/// Its clients are made and used on one thread, the main one: their calls block.
struct Connection: Sendable {
    /// Why these brokers.
    enum Origin: Sendable, Equatable {
        /// The settings name them.
        case configured
        /// A `juice serve` or `juice demo` of this user runs them.
        case embedded(RunFile)
        /// Nothing else is known.
        case fallback
    }

    /// Where Kafka listens unless somebody says otherwise.
    static let fallbackServers = "127.0.0.1:9092"

    let bootstrapServers: String
    var origin = Origin.configured
    var topics = TopicNames()
    var properties: [String: String] = [:]
    let logger: Logger
    private let lastClientError = LastClientError()

    /// Whether the broker is known to be an embedded one.
    var isEmbedded: Bool {
        if case .embedded = origin { true } else { false }
    }
}

// MARK: - Settings

extension Connection {
    /// The connection that the settings describe.
    init(_ settings: Settings, runFiles: RunFiles = .ofThisUser()) throws(Failure) {
        let logger = try settings.logger(default: .warning)
        let (servers, origin): (String, Origin)
        let running = runFiles.live()
        if let configured = settings.string(.bootstrapServers) {
            let embedded = running.first { $0.bootstrapServers == configured }
            (servers, origin) = (configured, embedded.map(Origin.embedded) ?? .configured)
        } else if try settings.boolean(.requireBrokers) {
            throw Failure(
                .configuration,
                "no Kafka brokers are named",
                hint: "set JUICE_BOOTSTRAP_SERVERS to yours, such as kafka1:9092,kafka2:9092"
            )
        } else if let running = running.first {
            (servers, origin) = (running.bootstrapServers, .embedded(running))
        } else {
            (servers, origin) = (Self.fallbackServers, .fallback)
        }
        let properties = try KafkaProperties.read(settings)
        try KafkaProperties.checkNames(properties)
        self.init(
            bootstrapServers: servers,
            origin: origin,
            topics: settings.topics(),
            properties: properties,
            logger: logger
        )
    }
}

// MARK: - Clients

extension Connection {
    /// A producer whose records land on the partition that owns their store, and are written once.
    ///
    /// - Parameter pace: how it gathers records, in librdkafka's properties. By itself it sends each at once.
    func producer(timeout: Duration, pace: [String: String] = [:]) throws(Failure) -> Producer {
        let milliseconds = max(1000, timeout / Duration.milliseconds(1))
        let configuration = KafkaConfiguration([
            // A record is given up when the command is.
            "message.timeout.ms": String(Int(milliseconds)),
            "linger.ms": "0",
        ])
        .merging(pace)
        .merging(base.properties)
        .merging(["enable.idempotence": "true", "partitioner": "murmur2_random"])
        return try made { () throws(KafkaError) in try Producer(configuration: configuration, hooks: hooks) }
    }

    /// How long a broker may wait for records, in milliseconds. A real one answers as soon as there is something; an embedded
    /// one only when the wait is over.
    var fetchWait: Int { isEmbedded ? 10 : 100 }

    /// A consumer that takes part in no group and, unless told otherwise, sees only what is committed.
    ///
    /// - Parameters:
    ///   - group: the one whose offsets it can ask for. Without a subscription it joins nothing.
    ///   - fetchWait: in place of ``fetchWait``.
    func consumer(
        group: String = "juice-cli",
        isolation: String = "read_committed",
        fetchWait: Int? = nil
    ) throws(Failure) -> Consumer {
        let configuration = KafkaConfiguration([
            "fetch.wait.max.ms": "\(fetchWait ?? self.fetchWait)",
            "queued.max.messages.kbytes": "16384",
        ])
        .merging(base.properties)
        .merging([
            "group.id": group,
            "enable.auto.commit": "false",
            "isolation.level": isolation,
            "enable.partition.eof": "true",
            "auto.offset.reset": "earliest",
        ])
        return try made { () throws(KafkaError) in try Consumer(configuration: configuration, hooks: hooks) }
    }

    /// A producer whose records become visible all at once or never, to be initialised.
    func transactionalProducer(id: String) throws(Failure) -> TransactionalProducer {
        let configuration = KafkaConfiguration([
            "transaction.timeout.ms": "10000", "linger.ms": "0",
            // The broker's limit is the one that counts.
            "message.max.bytes": "100000000",
        ])
        .merging(base.properties)
        .merging(["transactional.id": id])
        return try made { () throws(KafkaError) in
            try TransactionalProducer(configuration: configuration, hooks: hooks)
        }
    }

    func admin() throws(Failure) -> Admin {
        try made { () throws(KafkaError) in try Admin(configuration: base, hooks: hooks) }
    }

    /// What every client has in common.
    var base: KafkaConfiguration {
        KafkaConfiguration([
            "client.id": "juice-cli", "reconnect.backoff.max.ms": "1000",
            // A topic that is missing must be made as it has to be, not as a broker thinks fit.
            "allow.auto.create.topics": "false",
        ])
        .merging(properties)
        .merging(["bootstrap.servers": bootstrapServers])
    }

    private var hooks: ClientHooks {
        // What goes wrong for good ends the command with a sentence of its own. The rest is chatter.
        var logger = logger
        if logger.logLevel > .debug { logger.logLevel = .critical }
        return ClientHooks(logger: logger, onError: { [lastClientError] in lastClientError.note($0) })
    }

    /// What librdkafka refuses of a configuration is the user's to mend.
    func made<Client>(_ make: () throws(KafkaError) -> Client) throws(Failure) -> Client {
        do throws(KafkaError) {
            return try make()
        } catch {
            throw Failure(.configuration, error.message)
        }
    }
}

// MARK: - Errors

extension Connection {
    /// Asks Kafka, and says of an error what it means to whoever typed the command.
    func ask<Answer>(_ call: () throws(KafkaError) -> Answer) throws(Failure) -> Answer {
        do throws(KafkaError) {
            return try call()
        } catch {
            throw failure(error)
        }
    }

    /// What a Kafka error means to whoever typed the command.
    func failure(_ error: KafkaError) -> Failure {
        switch error.code {
        case .unknownTopicOrPartition, .unknownTopic, .unknownPartition:
            Failure(
                .configuration,
                "the topics are not there: \(error.message)",
                hint: "`juice topics create` makes them, `juice topics check` tells what is missing"
            )
        case .invalidArgument: Failure(.configuration, error.message)
        case _ where error.code.isDenial:
            Failure(
                .software,
                error.description,
                hint: "docs/SECURITY.md lists the rights that each command needs"
            )
        case _ where error.remedy == .retry || error.code == .timedOut || lastClientError.value != nil:
            unavailable
        default: Failure(.software, error.description)
        }
    }

    /// Whether a broker and this client do not come together as they are configured.
    var isRefused: Bool { lastClientError.value?.code.isRefusal ?? false }

    /// Nobody answers.
    var unavailable: Failure {
        let message = "no Kafka broker answers at \(bootstrapServers)"
        switch origin {
        case _ where isRefused:
            return Failure(
                .unavailable,
                "no connection to \(bootstrapServers): \(lastClientError.value?.message ?? "")"
            )
        case .configured where lastClientError.value?.suspectsConfiguration ?? false:
            return Failure(.unavailable, message, hint: lastClientError.value?.message)
        case .configured:
            return Failure(.unavailable, message)
        case .embedded(let running):
            return Failure(
                .unavailable,
                message,
                hint: "it should be the embedded broker of process \(running.processID)"
            )
        case .fallback:
            return Failure(
                .unavailable,
                message,
                hint:
                    "name your brokers with --bootstrap-servers, or start one to try things with `juice serve`"
            )
        }
    }
}

/// The last thing that librdkafka had to say for itself. It is told on librdkafka's threads.
private final class LastClientError: Sendable {
    private let mutex = Mutex<KafkaError?>(nil)

    var value: KafkaError? { mutex.withLock { $0 } }

    func note(_ error: KafkaError) {
        mutex.withLock { last in
            // A refusal says more than the broken connections that follow from it, and so does a suspicion.
            if let last, last.code.isRefusal || last.suspectsConfiguration && !error.code.isRefusal { return }
            last = error
        }
    }
}
