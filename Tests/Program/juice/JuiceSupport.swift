import Foundation
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

/// The failure that a user would be shown for an error of a command.
func failure(_ error: (any Error)?) -> Failure? {
    guard let error, !(error is Failure) else { return error as? Failure }
    return Failure.Status(rawValue: JuiceCommand.exitCode(for: error).rawValue).map {
        Failure($0, JuiceCommand.message(for: error))
    }
}

extension KafkaClients {
    /// Clients that wait for up to a minute, without a log.
    static func patient(_ servers: String, timeout: Duration = .seconds(60)) -> KafkaClients {
        KafkaClients(bootstrapServers: servers, capabilities: .embedded, timeout: timeout, logger: .quiet)
    }
}

extension KafkaClients {
    /// Writes a record of any bytes. Without a key it is of no store.
    func write(
        _ value: [UInt8], key: String?, to topic: Topic, partition: Int32? = nil, headers: [RecordHeader] = []
    ) throws {
        try producer(timeout: .seconds(30)).send(
            topic: topics[topic], partition: partition, key: key.map { Array($0.utf8) }, value: value, headers: headers,
            timeout: .seconds(30))
    }
}

extension EmbeddedBroker {
    typealias KeyedValue = (key: String?, value: String)

    /// Runs a broker during a body, with these records in partition 0.
    static func run(
        _ records: [Topic: [KeyedValue]] = [:], letterHeaders: [RecordHeader] = [], partitions: Int = 1,
        _ body: @escaping @Sendable (EmbeddedBroker, KafkaClients) async throws -> Void
    ) async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: .quiet)
            let clients = KafkaClients.patient(broker.bootstrapServers)
            let producer = try clients.producer(timeout: .seconds(30))
            for topic in Topic.allCases {
                try broker.createTopic(clients.topics[topic], partitionCount: partitions)
                for (key, value) in records[topic] ?? [] {
                    try producer.send(
                        topic: clients.topics[topic], partition: 0, key: key.map { Array($0.utf8) }, value: Array(value.utf8),
                        headers: topic == .deadLetters ? letterHeaders : [], timeout: .seconds(30))
                }
            }
            try await body(broker, clients)
        }
    }
}

extension TopicReader {
    /// Reads everything up to the ends in ``watermarks``, in order within each partition.
    func readAll(_ body: (ConsumedRecord) throws(Failure) -> Void) throws(Failure) { try read(watermarks, body) }
}

extension BackgroundGroup {
    /// Runs the service in the background.
    static func service(_ configuration: ServiceConfiguration, logger: Logger) -> BackgroundGroup {
        BackgroundGroup([OrderService(configuration: configuration, logger: logger)])
    }
}

/// Runs an embedded broker with the service during a body.
enum EmbeddedService {
    static func run(
        partitions: Int = 4, runFiles: RunFiles? = nil, _ body: @escaping @Sendable (KafkaClients) throws -> Void
    ) async throws {
        try await onThread {
            let embedded = try EmbeddedKafka(topics: TopicNames(), partitions: partitions, runFiles: runFiles, logger: .quiet)
            defer { embedded.stop() }
            let service = BackgroundGroup.service(
                ServiceConfiguration(bootstrapServers: embedded.bootstrapServers, instanceID: "test", capabilities: .embedded),
                logger: .quiet)
            defer { service.stop() }
            try body(.patient(embedded.bootstrapServers))
        }
    }
}

/// A path in the temporary directory during a body, with a file of this text if there is one.
func withFile<Result>(_ text: String? = nil, _ body: (String) throws -> Result) throws -> Result {
    let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    if let text { try Data(text.utf8).write(to: URL(filePath: path)) }
    return try body(path)
}

/// Topics for one test on a real broker.
struct BrokerSite: Sendable {
    let topics: TopicNames
    let clients: KafkaClients

    init(_ servers: String, partitions: Int) throws {
        topics = TopicNames(prefix: "test-\(UUID().uuidString.prefix(8)).")
        clients = KafkaClients(bootstrapServers: servers, topics: topics, logger: .quiet)
        let plan = TopicPlan(names: topics, partitionCount: partitions, replicationFactor: 1)
        _ = try clients.admin().create(plan.topics, timeout: .seconds(30))
    }

    /// The same instance at every call, like a restarted one.
    func service() -> ServiceConfiguration {
        ServiceConfiguration(
            bootstrapServers: clients.bootstrapServers, group: topics.orders + "-service", instanceID: "service", topics: topics)
    }
}

/// Sends commands and reads their answers and the stock.
struct TestClient {
    let clients: KafkaClients
    let deadline: Deadline

    init(_ clients: KafkaClients, _ deadline: Deadline) { (self.clients, self.deadline) = (clients, deadline) }

    /// Sends a command and waits for its answer.
    func answer(_ command: OutgoingCommand) throws -> Answer {
        let answers = try clients.newAnswers()
        #expect(try clients.send(command, deadline: deadline).delivery.offset != nil)
        return try #require(try answers.answer(to: command, deadline: deadline)).answer
    }

    /// The levels of the stores' fruits, or of one store's.
    func stock(of store: String? = nil) throws -> [String: [String: Int]] {
        let reader = try StockReader(clients, store: store)
        return Dictionary(
            uniqueKeysWithValues: reader.latest.map { entry in
                (entry.record.store, Dictionary(uniqueKeysWithValues: entry.record.stock.map { ($0.fruit, $0.amount) }))
            })
    }
}

extension Answer {
    /// The answer in a record, as the service writes it.
    init(json: String) throws { self = try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) } }

    var isMade: Bool {
        if case .juiceMade = outcome { true } else { false }
    }
}

/// A port that takes connections and never answers.
final class SilentServer: Sendable {
    private let socket: Int32
    let address: String

    init() {
        let listener = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        listen(listener, 16)
        var (name, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        withUnsafeMutablePointer(to: &name) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
        }
        // A command that never connects fails the test instead of blocking it.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        socket = listener
        address = "127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
    }

    deinit { close(socket) }

    func waitForConnection() { #expect(accept(socket, nil, nil) >= 0) }
}
