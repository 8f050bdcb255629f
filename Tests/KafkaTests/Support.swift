import Foundation
import Kafka
import Logging

/// A logger that keeps what it is told, on whatever thread.
///
/// `lock` guards `lines`, which the compiler cannot see. It is one that Thread Sanitizer knows; librdkafka's threads are
/// not Swift's, and to the sanitizer a `Mutex` between the two is none.
final class LogRecorder: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }

    private func append(_ line: String) { lock.withLock { lines.append(line) } }

    func makeLogger(level: Logger.Level = .debug) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.append("\(event.level) \(event.message)")
        }
    }
}

let quietHooks = ClientHooks(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

extension EmbeddedBroker {
    static func start(topics: [String: Int] = [:]) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker(logger: quietHooks.logger)
        for (name, count) in topics { try broker.createTopic(name, partitionCount: count) }
        return broker
    }

    func client(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["bootstrap.servers": bootstrapServers]).merging(properties)
    }

    func consumer(_ properties: [String: String] = [:]) throws -> Consumer {
        try Consumer(
            configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]).merging(properties),
            hooks: quietHooks
        )
    }

    /// A member of the group `test` that has its partitions.
    func member(of topics: [String]) throws -> GroupConsumer {
        let member = try GroupConsumer(
            of: topics,
            configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]),
            hooks: quietHooks
        )
        try join(member)
        return member
    }

    func producer(_ properties: [String: String] = [:]) throws -> Producer {
        try Producer(configuration: client(["linger.ms": "0"]).merging(properties), hooks: quietHooks)
    }

    func transactionalProducer(id: String = "transactional") throws -> TransactionalProducer {
        try TransactionalProducer(configuration: client(["transactional.id": id]), hooks: quietHooks)
    }
}

/// Runs a test's blocking calls on a thread of their own: Swift's cooperative threads must not block.
func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Swift.Result(catching: body)) }.start()
    }
}

/// Polls until the member has partitions or twenty seconds are over.
///
/// - Returns: the partitions.
@discardableResult
func join(_ member: GroupConsumer) throws -> [TopicPartition] {
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
        if case .assigned(let partitions) = try member.poll(maxRecords: 1, timeout: .milliseconds(100)) {
            return partitions
        }
    }
    return []
}

/// Polls until `isDone` or twenty seconds are over, handing each element to `body`.
func poll(
    _ consumer: Consumer,
    until isDone: () -> Bool,
    _ body: (RecordBatch.Element) throws -> Void
) throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !isDone(), ContinuousClock.now < deadline {
        for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) { try body(element) }
    }
}

extension UnsafeRawBufferPointer {
    var text: String { String(decoding: self, as: UTF8.self) }
}
