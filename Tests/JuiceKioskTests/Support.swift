import BrokerFaults
import Foundation
import JuiceDomain
import Kafka
import Logging
import Synchronization
import TestSupport

@testable import JuiceKiosk
@testable import JuiceMessages

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A clock that tests set.
final class TestClock: Sendable {
    private let start = ContinuousClock.now
    private let elapsed = Mutex(Duration.zero)

    var now: ContinuousClock.Instant { start + elapsed.withLock { $0 } }
    /// Seconds since 1970, of which the first thousand are over at the start.
    var seconds: Double { 1000 + elapsed.withLock { $0 } / .seconds(1) }

    func advance(_ duration: Duration) { elapsed.withLock { $0 += duration } }
}

/// Sample answers and stock records.
enum Sample {
    private static let kiwi = OrderedJuices.single(OrderedJuice(juice: "kiwi", quantity: 1))

    static let made = Answer.Outcome.juiceMade(kiwi, used: [], left: [FruitAmount(fruit: "kiwi", amount: 7)])
    static let short = Answer.Outcome.outOfStock(kiwi, missing: [MissingFruit(fruit: "kiwi", needed: 16, inStock: 10)])
    static let cancelled = Answer.Outcome.cancelled(returned: [FruitAmount(fruit: "kiwi", amount: 3)], left: [])

    static func answer(
        _ id: String, _ outcome: Answer.Outcome = made, to command: CommandKind = .order, store: String = "gangnam",
        isDuplicate: Bool = false, time: Int64 = 100_000, gap: ClosedRange<Int>? = nil
    ) -> TimedAnswer {
        let answer = Answer(
            command: command, id: id, store: store, offset: 1, from: nil, outcome: outcome, isDuplicate: isDuplicate,
            message: "a <b>message</b>\nof two lines", revision: nil)
        return TimedAnswer(answer: answer, time: time, gap: gap)
    }

    static func stock(_ store: String, kiwi: Int) -> KioskState.Event {
        .stock(StockRecord(store: store, revision: 1, stock: [FruitAmount(fruit: "kiwi", amount: kiwi)]))
    }
}

/// An embedded broker with an explicit stop, which blocks briefly.
final class TestBroker: Sendable {
    let bootstrapServers: String
    private let broker: Mutex<EmbeddedBroker?>

    init(topics: [String]) throws {
        let broker = try EmbeddedBroker(logger: .quiet)
        for name in topics { try broker.createTopic(name, partitionCount: 4) }
        bootstrapServers = broker.bootstrapServers
        self.broker = Mutex(broker)
    }

    /// Writes a record and waits until it is acknowledged.
    func write(_ value: String, key: String, to topic: String) throws {
        let properties = ["bootstrap.servers": bootstrapServers, "partitioner": "murmur2_random"]
        let producer = try Producer(configuration: KafkaConfiguration(properties), hooks: ClientHooks(logger: .quiet))
        try producer.send(topic: topic, key: Array(key.utf8), value: Array(value.utf8), timeout: .seconds(10))
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
