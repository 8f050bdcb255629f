import BrokerFaults
import Foundation
import Kafka
import Logging
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An embedded broker with an explicit stop, which blocks briefly.
final class TestBroker: Sendable {
    let bootstrapServers: String
    private let broker: Mutex<EmbeddedBroker?>

    init(topics: [String]) throws {
        let broker = try EmbeddedBroker(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for name in topics { try broker.createTopic(name, partitionCount: 4) }
        bootstrapServers = broker.bootstrapServers
        self.broker = Mutex(broker)
    }

    /// Writes a record and waits until it is acknowledged.
    func write(_ value: String, key: String, to topic: String) throws {
        let producer = try Producer(
            configuration: KafkaConfiguration([
                "bootstrap.servers": bootstrapServers, "partitioner": "murmur2_random",
            ]),
            hooks: ClientHooks(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        )
        try producer.send(
            topic: topic,
            key: Array(key.utf8),
            value: Array(value.utf8),
            timeout: .seconds(10)
        )
    }

    func takeDown() { broker.withLock { $0?.takeDown() } }
    func bringUp() { broker.withLock { $0?.bringUp() } }

    func stop() { broker.withLock { $0 = nil } }
}

/// Reads an event stream with a connection of its own.
final class EventReader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Set before the request, then used by the session's serial delegate queue only.
    private var text = ""
    private var isWanted: (String) -> Bool = { _ in false }
    private var continuation: CheckedContinuation<String, any Error>?

    func read(_ url: URL, until isWanted: @escaping (String) -> Bool) async throws -> String {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        self.isWanted = isWanted
        return try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            session.dataTask(with: url).resume()
        }
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        text += String(decoding: data, as: UTF8.self)
        while let end = text.firstRange(of: "\n\n") {
            let event = String(text[..<end.lowerBound])
            text.removeSubrange(..<end.upperBound)
            guard isWanted(event) else { continue }
            continuation?.resume(returning: event)
            continuation = nil
        }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        continuation?.resume(throwing: error ?? URLError(.networkConnectionLost))
        continuation = nil
    }
}
