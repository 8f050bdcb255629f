import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport

@testable import JuiceService

/// A Kafka cluster for a test: the embedded broker, or a real one.
struct TestCluster: Sendable {
    let bootstrapServers: String
    /// The embedded broker, which runs as long as the test; nil for a real cluster.
    let broker: EmbeddedBroker?
    let topics: TopicNames

    /// An embedded broker with the service's topics.
    static func embedded(partitionCount: Int) throws -> TestCluster {
        let broker = try EmbeddedBroker(logger: quietLogger)
        let topics = TopicNames()
        for name in topics.all { try broker.createTopic(name, partitionCount: partitionCount) }
        return TestCluster(bootstrapServers: broker.bootstrapServers, broker: broker, topics: topics)
    }

    /// New topics on the broker that `KAFKA_BOOTSTRAP_SERVERS` names.
    static func real(_ bootstrapServers: String, partitionCount: Int) throws -> TestCluster {
        let topics = TopicNames(prefix: "test-\(UUID().uuidString.prefix(8)).")
        let admin = try Admin(
            configuration: KafkaConfiguration(["bootstrap.servers": bootstrapServers]), hooks: ClientHooks(logger: quietLogger))
        _ = try admin.create(
            TopicPlan(names: topics, partitionCount: partitionCount, replicationFactor: 1).topics, timeout: .seconds(60))
        return TestCluster(bootstrapServers: bootstrapServers, broker: nil, topics: topics)
    }

    func serviceConfiguration(instanceID: String = "test", workers: Int = 1) -> ServiceConfiguration {
        ServiceConfiguration(
            bootstrapServers: bootstrapServers, group: topics.orders + "-group", instanceID: instanceID, workers: workers,
            topics: topics, capabilities: broker == nil ? .full : .embedded)
    }

    /// A service with short heartbeats and sessions, so that tests of its membership are fast.
    ///
    /// In the embedded broker, joining takes 3 seconds the first time, and later until a second before the session timeout.
    /// If a follower's SyncGroup arrives after the leader's, the broker answers INVALID_REQUEST and both members join again.
    func impatientConfiguration(_ properties: [String: String] = [:], workers: Int = 1) -> ServiceConfiguration {
        var configuration = serviceConfiguration(workers: workers)
        configuration.kafkaProperties = [
            "heartbeat.interval.ms": "200", "session.timeout.ms": broker == nil ? "10000" : "3500",
        ]
        .merging(properties) { $1 }
        return configuration
    }

    /// - Parameter partitioner: librdkafka's name; by default the partitioner of Java clients.
    func makeProducer(partitioner: String = "murmur2_random") throws -> Producer {
        try Producer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": bootstrapServers, "partitioner": partitioner, "linger.ms": "1",
            ]),
            hooks: ClientHooks(logger: quietLogger)
        )
    }

    /// Reads the committed records of a topic from its start until `isComplete` or the deadline; of the results, the answers.
    ///
    /// The deadline is generous: on a busy machine a service may take a minute to start.
    func read(
        _ topic: String, partitionCount: Int, within timeout: Duration = .seconds(120), until isComplete: ([ReadRecord]) -> Bool
    ) throws -> [ReadRecord] {
        let consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": bootstrapServers, "group.id": "reader", "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            ]), hooks: ClientHooks(logger: quietLogger))
        defer { consumer.close() }
        try consumer.assign(
            Dictionary(uniqueKeysWithValues: (0..<partitionCount).map { (TopicPartition(topic: topic, partition: Int32($0)), 0) }))
        var records: [ReadRecord] = []
        let deadline = ContinuousClock.now + timeout
        while !isComplete(records), ContinuousClock.now < deadline {
            for case .record(let record) in try consumer.poll(maxRecords: 1000, timeout: .milliseconds(100)) {
                if topic == topics.results, record.key == nil { continue }
                records.append(ReadRecord(record))
            }
        }
        return records
    }
}

/// A copy of a record that a test read.
struct ReadRecord {
    let partition: Int32
    let offset: Int64
    let key: String?
    let value: [UInt8]
    let headers: [RecordHeader]

    init(_ record: ConsumedRecord) {
        partition = record.partition
        offset = record.offset
        key = record.key.map { String(decoding: $0, as: UTF8.self) }
        value = record.value.map { Array($0) } ?? []
        headers = record.headers
    }

    var text: String { String(decoding: value, as: UTF8.self) }
}

/// Runs a service while a test's body runs, on a thread of its own since it blocks.
func withRunningService<Result: Sendable>(
    _ configuration: ServiceConfiguration, topicPlan: TopicPlan? = nil, logger: Logger = quietLogger,
    _ body: @escaping @Sendable (EventLog) throws -> Result
) async throws -> Result {
    let events = EventLog()
    let service = OrderService(
        configuration: configuration, topicPlan: topicPlan, health: events.health, logger: logger, onEvent: { events.append($0) })
    let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: quietLogger))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let result = try await onThread { try body(events) }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return result
    }
}

/// Collects the events of a service's workers.
final class EventLog: Sendable {
    private let events = Mutex<[WorkerEvent]>([])
    let health = ServiceHealth()

    func append(_ event: WorkerEvent) { events.withLock { $0.append(event) } }

    var all: [WorkerEvent] { events.withLock { $0 } }

    /// Whether every worker has restored its partitions, after one rebalance or several.
    var isReady: Bool { health.readiness.isWell }

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
func wait(
    upTo timeout: Duration = .seconds(90),
    until condition: () throws -> Bool
) rethrows -> Bool {
    let deadline = ContinuousClock.now + timeout
    while try !condition(), ContinuousClock.now < deadline { Thread.sleep(forTimeInterval: 0.01) }
    return try condition()
}
