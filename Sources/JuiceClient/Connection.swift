import Foundation
import JuiceMessages
import Kafka
import Logging
import Synchronization

/// How a client command reaches Kafka.
///
/// Its clients are made and used on one thread, the main one: their calls block.
package struct Connection: Sendable {
    /// Why these brokers.
    package enum Origin: Sendable, Equatable {
        /// The settings name them.
        case configured
        /// A `juice serve` or `juice demo` of this user runs them.
        case embedded(processID: Int32)
        /// Nothing else is known.
        case fallback
    }

    /// Where Kafka listens unless somebody says otherwise.
    package static let fallbackServers = "127.0.0.1:9092"

    package let bootstrapServers: String
    package let origin: Origin
    package let topics: TopicNames
    package let properties: [String: String]
    package let logger: Logger
    private let lastClientError = LastClientError()

    package init(
        bootstrapServers: String,
        origin: Origin = .configured,
        topics: TopicNames = TopicNames(),
        properties: [String: String] = [:],
        logger: Logger
    ) {
        self.bootstrapServers = bootstrapServers
        (self.origin, self.topics, self.properties, self.logger) = (origin, topics, properties, logger)
    }

    /// What the brokers can do.
    package var capabilities: BrokerCapabilities {
        if case .embedded = origin { .embedded } else { .full }
    }
}

// MARK: - Clients

extension Connection {
    /// A producer whose records land on the partition that owns their store, and are written once.
    ///
    /// - Parameter pace: how it gathers records, in librdkafka's properties. By itself it sends each at once.
    package func producer(timeout: Duration, pace: [String: String] = [:]) throws(Failure) -> Producer {
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

    /// How long a fetch may wait for records, in milliseconds.
    package var fetchWait: Int { capabilities.fetchWait }

    /// A consumer that takes part in no group and, unless told otherwise, sees only what is committed.
    ///
    /// - Parameters:
    ///   - group: the one whose offsets it can ask for. Without a subscription it joins nothing.
    ///   - fetchWait: in place of ``fetchWait``.
    package func consumer(
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
    package func transactionalProducer(id: String) throws(Failure) -> TransactionalProducer {
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

    package func admin() throws(Failure) -> Admin {
        try made { () throws(KafkaError) in try Admin(configuration: base, hooks: hooks) }
    }

    /// What every client has in common.
    package var base: KafkaConfiguration {
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
    package func made<Client>(_ make: () throws(KafkaError) -> Client) throws(Failure) -> Client {
        do throws(KafkaError) {
            return try make()
        } catch {
            throw Failure(.configuration, error.message)
        }
    }
}

// MARK: - Reaching brokers

extension Connection {
    /// An admin client of a broker that answers.
    package func admin(reachedWithin timeout: Duration) throws(Failure) -> Admin {
        let admin = try admin()
        try reach(admin, deadline: Deadline(after: timeout))
        return admin
    }

    /// Waits until a broker answers.
    ///
    /// librdkafka tries a refused connection again until the time is over, but no wrong password becomes right by that. A
    /// broker that is only slow gets more time with each attempt.
    /// - Throws: ``Failure`` of status ``Failure/Status/unavailable``; when the connection is refused, soon.
    package func reach(_ client: some ClusterAsker, deadline: Deadline) throws(Failure) {
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
}

// MARK: - Errors

extension Connection {
    /// Asks Kafka, and says of an error what it means to whoever typed the command.
    package func ask<Answer>(_ call: () throws(KafkaError) -> Answer) throws(Failure) -> Answer {
        do throws(KafkaError) {
            return try call()
        } catch {
            throw failure(error)
        }
    }

    /// What a Kafka error means to whoever typed the command.
    package func failure(_ error: KafkaError) -> Failure {
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
    package var isRefused: Bool { lastClientError.value?.code.isRefusal ?? false }

    /// Nobody answers.
    package var unavailable: Failure {
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
        case .embedded(let processID):
            return Failure(
                .unavailable,
                message,
                hint: "it should be the embedded broker of process \(processID)"
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
