import FaultyNetwork
import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import Metrics
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// A Kafka cluster for a test: the embedded broker, or a real one.
struct TestCluster: Sendable {
    let bootstrapServers: String
    /// The embedded broker, which runs as long as the test; nil for a real cluster.
    let embedded: EmbeddedBroker?
    var topics = TopicNames()

    /// An embedded broker with the service's topics, which have `partitionCount` partitions unless `counts` has another number. It
    /// is created on a thread of its own, since configuring it blocks.
    static func embedded(
        brokerCount: Int = 1, partitionCount: Int = 1, _ counts: [Topic: Int] = [:],
        _ prepare: @escaping @Sendable (TestCluster) throws -> Void = { _ in }
    ) async throws -> TestCluster {
        try await onThread {
            let broker = try EmbeddedBroker(brokerCount: brokerCount, logger: quietLogger)
            let cluster = TestCluster(bootstrapServers: broker.bootstrapServers, embedded: broker)
            for topic in Topic.allCases {
                try broker.createTopic(cluster.topics[topic], partitionCount: counts[topic] ?? partitionCount)
            }
            try prepare(cluster)
            return cluster
        }
    }

    /// An embedded cluster on which faults hit only the service: broker 1 is the coordinator and has the answers and the stock,
    /// broker 2 has the commands. Only the service produces to broker 1 and fetches from broker 2.
    static func split() async throws -> TestCluster {
        try await embedded(brokerCount: 2) { cluster in
            let configuration = cluster.serviceConfiguration()
            for topic in Topic.allCases {
                cluster.broker.setLeader(topic == .orders || topic == .restocks ? 2 : 1, of: cluster.topics[topic, 0])
            }
            cluster.broker.setCoordinator(1, ofGroup: configuration.group)
            for set in 0..<ServiceConfiguration.producerSets {
                for id in configuration.transactionalIDs(worker: 0, set: set) {
                    cluster.broker.setCoordinator(1, ofTransactionalID: id)
                }
            }
        }
    }

    /// New topics on the broker that `KAFKA_BOOTSTRAP_SERVERS` names.
    static func real(partitionCount: Int = 4) async throws -> TestCluster {
        try await onThread {
            let cluster = TestCluster(
                bootstrapServers: realBroker ?? "", embedded: nil,
                topics: TopicNames(prefix: "test-\(UUID().uuidString.prefix(8))."))
            let plan = TopicPlan(names: cluster.topics, partitionCount: partitionCount, replicationFactor: 1)
            _ = try cluster.makeAdmin().create(plan.topics, timeout: .seconds(60))
            return cluster
        }
    }

    var broker: EmbeddedBroker {
        guard let embedded else { preconditionFailure("a test of faults runs on an embedded broker") }
        return embedded
    }

    func serviceConfiguration(instanceID: String = "test", workers: Int = 1) -> ServiceConfiguration {
        ServiceConfiguration(
            bootstrapServers: bootstrapServers, group: topics.orders + "-group", instanceID: instanceID, workers: workers,
            topics: topics, capabilities: embedded == nil ? .full : .embedded)
    }

    /// A service with short heartbeats and sessions, so that tests of its membership are fast.
    ///
    /// In the embedded broker, joining takes 3 seconds the first time, and later until a second before the session timeout.
    /// If a follower's SyncGroup arrives after the leader's, the broker answers INVALID_REQUEST and both members join again.
    func impatientConfiguration(_ properties: [String: String] = [:]) -> ServiceConfiguration {
        var configuration = serviceConfiguration()
        configuration.kafkaProperties = ["heartbeat.interval.ms": "200", "session.timeout.ms": "3500"].merging(properties) { $1 }
        // The first denial ends it.
        configuration.denialPatience = .zero
        return configuration
    }

    func makeAdmin() throws -> Admin {
        // Otherwise brokers create what it asks about.
        let properties = ["bootstrap.servers": bootstrapServers, "allow.auto.create.topics": "false"]
        return try Admin(configuration: KafkaConfiguration(properties), hooks: ClientHooks(logger: quietLogger))
    }

    /// A producer with the partitioner of Java clients, unless its properties say otherwise.
    func makeProducer(_ properties: [String: String] = [:]) throws -> Producer {
        try Producer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": bootstrapServers, "partitioner": "murmur2_random", "linger.ms": "1",
                // A request that gets lost while a broker goes down or comes up is sent again before `order` gives up.
                "socket.timeout.ms": "10000", "reconnect.backoff.max.ms": "1000",
            ]).merging(properties), hooks: ClientHooks(logger: quietLogger))
    }

    /// Sends one order.
    func order(_ id: String, juice: String = "kiwi", of store: String? = nil, by producer: Producer? = nil) throws {
        try (producer ?? makeProducer()).send(
            topic: topics.orders, key: store.map { Array($0.utf8) },
            value: Array(#"{"orderId":"\#(id)","juice":"\#(juice)"}"#.utf8),
            timeout: .seconds(60))
    }

    /// Reads the committed records of a topic from its start until `isComplete` or the deadline; of the results, only the answers.
    ///
    /// The deadline is generous: on a busy machine a service may take a minute to start.
    func read(
        _ topic: Topic, partitionCount: Int, within timeout: Duration = .seconds(120), until isComplete: ([ReadRecord]) -> Bool
    ) throws -> [ReadRecord] {
        let consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": bootstrapServers, "group.id": "reader", "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            ]).merging(serviceConfiguration().capabilities.consumerProperties), hooks: ClientHooks(logger: quietLogger))
        defer { consumer.close() }
        try consumer.assign(Dictionary(uniqueKeysWithValues: (0..<Int32(partitionCount)).map { (topics[topic, $0], 0) }))
        var records: [ReadRecord] = []
        let deadline = ContinuousClock.now + timeout
        while !isComplete(records), ContinuousClock.now < deadline {
            for case .record(let record) in try consumer.poll(maxRecords: 1000, timeout: .milliseconds(100)) {
                if topic == .results, record.key == nil { continue }
                records.append(ReadRecord(record))
            }
        }
        return records
    }

    /// Writes stock and a journal, as if a service had run before.
    func leaveSomeStock() throws {
        let claim = JournalClaim(
            ids: ["former"], since: 0, group: serviceConfiguration().group, instance: "former", partitions: 1, next: [:])
        let position = JournalPosition(
            next: [.orders: 0, .restocks: 0], added: [:], claim: 0, ids: ["former"], forwarded: [:],
            account: JournalAccount(
                before: nil, records: 1,
                changes: StockChanges(count: 1, sum: BorrowedText.withText("main") { StockChanges.weight(of: $0.bytes) }),
                oldest: nil, menu: JournalAccount.digest(of: .standard)))
        let stock = #"{"store":"main","revision":1,"stock":{"kiwi":1000}}"#
        try makeProducer().send([
            (topics.stock, 0, "main", Array(stock.utf8)), (topics.results, 0, nil, JournalNote.claim(claim).bytes),
            (topics.results, 0, nil, JournalNote.position(position).bytes),
        ])
    }
}

extension Producer {
    /// Writes records and waits until all are confirmed.
    func send(_ records: [(topic: String, partition: Int32, key: String?, value: [UInt8])]) throws {
        var (confirmed, failure) = (0, KafkaError?.none)
        for record in records {
            let key = record.key.map { Array($0.utf8) }
            try produce(topic: record.topic, partition: record.partition, key: key, value: record.value) { result in
                confirmed += 1
                if case .failure(let error) = result { failure = error }
            }
        }
        while confirmed < records.count, failure == nil { poll(timeout: .milliseconds(100)) }
        if let failure { throw failure }
    }
}

extension JournalNote {
    /// The value of the note's record.
    var bytes: [UInt8] {
        var buffer = OutputBuffer()
        write(into: &buffer)
        return buffer.bytes
    }
}

/// A copy of a record that a test read.
struct ReadRecord {
    let partition: Int32
    let offset: Int64
    let key: String?
    let value: [UInt8]
    let headers: [RecordHeader]
    let timestamp: Int64?

    init(_ record: ConsumedRecord) {
        partition = record.partition
        offset = record.offset
        key = record.key.map { String(decoding: $0, as: UTF8.self) }
        value = record.value.map { Array($0) } ?? []
        headers = record.headers
        timestamp = record.timestamp
    }

    var text: String { String(decoding: value, as: UTF8.self) }
}

/// A point of sale: sends orders and waits for their answers.
final class Till {
    /// The id of the first order of every till.
    static let firstOrder = id(1)

    private let cluster: TestCluster
    private let producer: Producer
    private let consumer: Consumer
    private var count = 0
    private var results: [String] = []

    init(_ cluster: TestCluster) throws {
        self.cluster = cluster
        producer = try cluster.makeProducer()
        consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": cluster.bootstrapServers, "group.id": "till", "reconnect.backoff.max.ms": "1000",
            ]).merging(BrokerCapabilities.embedded.consumerProperties), hooks: ClientHooks(logger: quietLogger))
        try consumer.assign([cluster.topics[.results, 0]: 0])
    }

    /// Orders a juice, and returns the order's id.
    func order() throws -> String {
        count += 1
        let id = Self.id(count)
        try cluster.order(id, by: producer)
        return id
    }

    /// Waits for the answer to an order as long as the service runs.
    func isAnswered(_ id: String, by events: EventLog, within timeout: Duration = .seconds(60)) throws -> Bool {
        let deadline = ContinuousClock.now + timeout
        while !results.contains(where: { $0.contains(id) }) {
            guard ContinuousClock.now < deadline, !events.hasFailed else { return false }
            for case .record(let record) in try consumer.poll(maxRecords: 1000, timeout: .milliseconds(20)) {
                results.append(record.value.map { String(decoding: $0, as: UTF8.self) } ?? "")
            }
        }
        return true
    }

    private static func id(_ number: Int) -> String { "order-\(number)." }

    deinit { consumer.close() }
}

/// Runs a service while a test's body runs. Neither waits for the turns of other tests.
func withRunningService<Result: Sendable>(
    _ configuration: ServiceConfiguration, metrics: (any MetricsFactory)? = nil, logger: Logger = quietLogger,
    _ body: @escaping @Sendable (EventLog) throws -> Result
) async throws -> Result {
    let events = EventLog()
    let service = OrderService(
        configuration: configuration, health: events.health, metrics: metrics, logger: logger, onEvent: events.append)
    let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: quietLogger))
    return try await onThread {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { events.end() }
                try await group.run()
            }
            let result = try body(events)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }
}

/// A second group does not start while a first one runs: it would throw out the first one's instances. Once they have ended, it
/// may take over.
func expectSecondGroupRefused(on cluster: TestCluster) async throws {
    let second = { @Sendable (takesOver: Bool) in
        var configuration = cluster.serviceConfiguration(instanceID: "second")
        (configuration.group, configuration.takesOver, configuration.patience) = ("second", takesOver, .seconds(2))
        return configuration
    }
    try await withRunningService(cluster.serviceConfiguration(instanceID: "first")) { events in
        #expect(wait { events.isRestored })
        let reason = Mutex<String?>(nil)
        Task.detached {
            let found = try await reasonToEnd(second(false))
            reason.withLock { $0 = found ?? "it started" }
        }
        #expect(wait { reason.withLock { $0 != nil } })
        #expect(reason.withLock { $0?.contains(#"(instance "first", since "#) == true }, "\(reason.withLock { $0 ?? "" })")
        #expect(!events.hasFailed)
    }
    try await withRunningService(second(true)) { events in #expect(wait { events.isRestored }) }
}

/// Runs a service, and what disturbs it, until it ends by itself, and returns the reason; nil if it still runs after a minute.
func reasonToEnd(
    _ configuration: ServiceConfiguration, _ disturb: @escaping @Sendable (EventLog) throws -> Void = { _ in }
) async throws -> String? {
    do {
        try await withRunningService(configuration) { events in
            try disturb(events)
            wait(upTo: .seconds(60)) { events.hasEnded }
        }
        return nil
    } catch let error as ServiceError { return error.description }
}

/// How many of the longest pauses between two tries lie since then: a thread may have stood still.
func pauses(since start: ContinuousClock.Instant) -> Int { Int((ContinuousClock.now - start) / .milliseconds(160)) }

/// Collects the events of a service's workers.
final class EventLog: Sendable {
    private let state = Mutex((events: [WorkerEvent](), hasEnded: false))
    let health = ServiceHealth()

    func append(_ event: WorkerEvent) { state.withLock { $0.events.append(event) } }
    func end() { state.withLock { $0.hasEnded = true } }

    var all: [WorkerEvent] { state.withLock(\.events) }

    /// Waits until every worker has restored its partitions, after one rebalance or several.
    func becomesReady() -> Bool { wait { health.readiness.isEmpty || hasFailed } && !hasFailed }

    var isRevoked: Bool { all.contains { if case .revoked = $0 { true } else { false } } }
    /// Whether a worker has failed for good, or the service has ended without one.
    /// Whether the service has ended, after its workers have left their group.
    var hasEnded: Bool { state.withLock(\.hasEnded) }

    var hasFailed: Bool { state.withLock(\.hasEnded) || all.contains { if case .failed = $0 { true } else { false } } }
    /// How often workers have taken over and restored their partitions.
    var takeovers: Int { all.count { if case .restored = $0 { true } else { false } } }
    var isRestored: Bool { takeovers > 0 }
    /// How often workers have started over.
    var restarts: Int { all.count { if case .startingOver = $0 { true } else { false } } }
    /// How many calls were retried, and how often workers started over.
    var setbacks: Int { restarts + all.count { if case .retrying = $0 { true } else { false } } }

    /// Transactions with commands, without those that only claim partitions.
    var committed: [TransactionSummary] {
        all.compactMap { if case .committed(let summary) = $0, summary.commands > 0 { summary } else { nil } }
    }
}

let quietLogger: Logger = {
    var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = ProcessInfo.processInfo.environment["TEST_LOG_LEVEL"].flatMap(Logger.Level.init(rawValue:)) ?? .critical
    return logger
}()

/// Blocks until a condition holds or the timeout is over.
///
/// - Returns: whether the condition holds.
@discardableResult
func wait(upTo timeout: Duration = .seconds(90), until condition: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + timeout
    while try !condition() {
        guard .now < deadline else { return false }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return true
}
