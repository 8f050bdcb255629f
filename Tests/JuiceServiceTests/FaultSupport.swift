import BrokerFaults
import Foundation
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

extension TestCluster {
    /// An embedded cluster on which faults hit only the service: broker 1 is the coordinator and has the answers and the stock,
    /// broker 2 has the commands. Only the service produces to broker 1 and fetches from broker 2.
    ///
    /// Created on a thread of its own, since configuring the embedded broker blocks.
    static func split() async throws -> TestCluster { try await onThread { try makeSplit() } }

    /// An embedded broker with one partition of each topic, created on a thread of its own.
    static func single(_ prepare: @escaping @Sendable (TestCluster) throws -> Void = { _ in }) async throws -> TestCluster {
        try await onThread {
            let cluster = try embedded(partitionCount: 1)
            try prepare(cluster)
            return cluster
        }
    }

    /// An embedded broker that hides one topic, as from clients without the right to describe it: they get an error and no
    /// partitions.
    static func hiding(_ topic: KeyPath<TopicNames, String> & Sendable) async throws -> TestCluster {
        try await onThread {
            let broker = try EmbeddedBroker(logger: quietLogger)
            let cluster = TestCluster(bootstrapServers: broker.bootstrapServers, broker: broker, topics: TopicNames())
            for name in cluster.topics.all {
                try broker.createTopic(name, partitionCount: name == cluster.topics[keyPath: topic] ? 0 : 1)
            }
            broker.setError(.topicAuthorizationFailed, ofTopic: cluster.topics[keyPath: topic])
            return cluster
        }
    }

    private static func makeSplit() throws -> TestCluster {
        let broker = try EmbeddedBroker(brokerCount: 2, logger: quietLogger)
        let topics = TopicNames()
        let commands = [topics.orders, topics.restocks]
        for name in topics.all {
            try broker.createTopic(name, partitionCount: 1)
            broker.setLeader(commands.contains(name) ? 2 : 1, of: TopicPartition(topic: name, partition: 0))
        }
        let cluster = TestCluster(bootstrapServers: broker.bootstrapServers, broker: broker, topics: topics)
        let configuration = cluster.serviceConfiguration()
        broker.setCoordinator(1, ofGroup: configuration.group)
        for set in 0..<ServiceConfiguration.producerSets {
            for id in configuration.transactionalIDs(worker: 0, set: set) { broker.setCoordinator(1, ofTransactionalID: id) }
        }
        return cluster
    }

    /// Writes stock and a journal, as if a service had run before.
    func leaveSomeStock() throws {
        let producer = try makeProducer()
        let claim = JournalClaim(ids: ["former"], since: 0, group: "former", instance: "former", partitions: 1, next: [:])
        let position = JournalPosition(
            next: [.orders: 0, .restocks: 0], added: [:], stock: 1, claim: 0, ids: ["former"], forwarded: [:])
        let stock = #"{"store":"main","revision":1,"stock":{"kiwi":1000}}"#
        try producer.send([
            .init(topic: topics.stock, partition: 0, key: Array("main".utf8), value: Array(stock.utf8)),
            .init(topic: topics.results, partition: 0, key: nil, value: JournalNote.claim(claim).bytes),
            .init(topic: topics.results, partition: 0, key: nil, value: JournalNote.position(position).bytes),
        ])
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

/// Errors of one kind of request.
struct Fault: CustomTestStringConvertible {
    let request: EmbeddedBroker.Request
    let broker: Int32
    let codes: [KafkaError.Code]
    /// A heartbeat's error that makes the service send the request.
    let trigger: KafkaError.Code?
    let testDescription: String

    init(
        _ name: String, _ request: EmbeddedBroker.Request, broker: Int32 = 1, trigger: KafkaError.Code? = nil,
        _ codes: [KafkaError.Code]
    ) {
        testDescription = name
        self.request = request
        self.broker = broker
        self.codes = codes
        self.trigger = trigger
    }
}

/// A point of sale: sends orders and waits for their answers.
final class Till {
    /// The id of the first order of every till.
    static let firstOrder = id(1)

    private let topics: TopicNames
    private let producer: Producer
    private let consumer: Consumer
    private var count = 0
    private var results: [String] = []

    init(_ cluster: TestCluster) throws {
        topics = cluster.topics
        producer = try cluster.makeProducer()
        consumer = try Consumer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": cluster.bootstrapServers, "group.id": "till", "fetch.wait.max.ms": "20",
                "reconnect.backoff.max.ms": "1000",
            ]), hooks: ClientHooks(logger: quietLogger))
        try consumer.assign([TopicPartition(topic: topics.results, partition: 0): 0])
    }

    /// Orders a juice, and returns the order's id.
    func order() throws -> String {
        count += 1
        let id = Self.id(count)
        try producer.send(
            topic: topics.orders, key: nil, value: Array(#"{"orderId":"\#(id)","juice":"kiwi"}"#.utf8), timeout: .seconds(60))
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

extension EventLog {
    /// Whether a worker has failed for good.
    var hasFailed: Bool {
        all.contains { if case .failed = $0 { true } else { false } }
    }

    /// How many calls were retried, and how often workers started over.
    var setbacks: Int {
        all.count {
            switch $0 {
            case .retrying, .startingOver: true
            default: false
            }
        }
    }
}

/// Runs a service until it ends by itself, and returns the reason; nil if it still runs after `timeout`.
func reasonToEnd(_ configuration: ServiceConfiguration, within timeout: Duration = .seconds(60)) async throws -> String? {
    try await withThrowingTaskGroup(of: String?.self) { tasks in
        tasks.addTask {
            do {
                try await OrderService(configuration: configuration, logger: quietLogger).run()
                return nil
            } catch { return "\(error)" }
        }
        tasks.addTask {
            try await Task.sleep(for: timeout)
            return nil
        }
        defer { tasks.cancelAll() }
        return try await tasks.next() ?? nil
    }
}

extension KafkaError.Code {
    static let corruptMessage = Self(rawValue: 2)
    static let leaderNotAvailable = Self(rawValue: 5)
    static let notLeaderForPartition = Self(rawValue: 6)
    static let requestTimedOut = Self(rawValue: 7)
    static let brokerNotAvailable = Self(rawValue: 8)
    static let replicaNotAvailable = Self(rawValue: 9)
    static let networkException = Self(rawValue: 13)
    static let coordinatorLoadInProgress = Self(rawValue: 14)
    static let coordinatorNotAvailable = Self(rawValue: 15)
    static let notCoordinator = Self(rawValue: 16)
    static let notEnoughReplicas = Self(rawValue: 19)
    static let notEnoughReplicasAfterAppend = Self(rawValue: 20)
    static let illegalGeneration = Self(rawValue: 22)
    static let unknownMemberID = Self(rawValue: 25)
    static let rebalanceInProgress = Self(rawValue: 27)
    static let outOfOrderSequence = Self(rawValue: 45)
    static let invalidProducerEpoch = Self(rawValue: 47)
    static let invalidTransactionState = Self(rawValue: 48)
    static let invalidProducerIDMapping = Self(rawValue: 49)
    static let concurrentTransactions = Self(rawValue: 51)
    static let storageError = Self(rawValue: 56)
    static let unknownProducerID = Self(rawValue: 59)
    static let fencedLeaderEpoch = Self(rawValue: 74)
    static let unknownLeaderEpoch = Self(rawValue: 75)
    static let offsetNotAvailable = Self(rawValue: 78)
    static let groupMaxSizeReached = Self(rawValue: 81)
    static let producerFenced = Self(rawValue: 90)
}
