import FaultyNetwork
import Foundation
import Hummingbird
import JuiceWeb
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

/// What a user reads about brokers that do not answer, or answer wrongly.
@Suite(.concurrencyLimited, .timeLimit(.minutes(10)))
struct KafkaClientsTests {
    private static func clients(_ servers: String) -> KafkaClients {
        KafkaClients(bootstrapServers: servers, timeout: .seconds(10), logger: .quiet)
    }

    /// Transient errors, such as that of a new topic, whose partitions have no leaders yet.
    private static let passing = [
        KafkaError(code: .init(rawValue: 5), isRetriable: true), KafkaError(code: .timedOut, isRetriable: true),
    ]

    /// The records around the batch are read. The gap has all of the batch's offsets.
    @Test func aDamagedBatchIsNamedAndPassedOver() async throws {
        try await onThread {
            let broker = try EmbeddedBroker(logger: .quiet)
            let clients = KafkaClients(
                bootstrapServers: broker.bootstrapServers, properties: ["check.crcs": "true"], logger: .quiet)
            let place = TopicPartition(topic: clients.topics.orders, partition: 0)
            try broker.createTopic(place.topic, partitionCount: 1)
            let order = String(repeating: "x", count: 300)
            try broker.append([([order], nil), ([order, order, order], .bit)], at: 0, to: place)
            for _ in 0..<2 { try broker.append(order, damaged: nil, to: place) }
            let reader = try TopicReader(clients, topic: place.topic)
            var offsets: [Offset] = []
            try reader.readAll { offsets.append($0.offset) }
            #expect(offsets == [0, 4, 5])
            #expect(reader.gaps.map(\.offsets) == [1..<4])
            #expect(reader.gaps.first?.error.message.contains("CRC32C") == true)
        }
    }

    @Test(arguments: passing)
    func retriesALookupUntilItsTimeout(error: KafkaError) async throws {
        try await EmbeddedBroker.run { broker, clients throws in
            var attempts = 0
            func attempt(timeout: Duration) throws(KafkaError) -> Int {
                attempts += 1
                if attempts < 3 { throw error }
                return attempts
            }
            #expect(try clients.ask(nil, attempt) == 3)
            let failure = #expect(throws: Failure.self) {
                try KafkaClients.patient(broker.bootstrapServers, timeout: .zero).ask(nil) { _ throws(KafkaError) in throw error }
            }
            #expect(failure?.status == .unavailable)
            #expect(
                failure?.message.hasPrefix("Kafka answers at \(broker.bootstrapServers), but") == true, "\(failure?.report ?? "")")
        }
    }

    @Test(arguments: [
        ("127.0.0.1:1", "connection refused"), ("no-such-host.invalid:9092", "the name is not resolved"),
    ])
    func explainsWhyNoBrokerAnswers(servers: String, reason: String) async throws {
        try await onThread { Self.expectNoBroker(at: servers, because: reason) }
    }

    @Test func aServerOfAnotherKindIsNoBroker() async throws {
        try await serving(Router().buildResponder()) { address in
            try await onThread { Self.expectNoBroker(at: "\(address)", because: "an HTTP server answers, not Kafka") }
        }
    }

    private static func expectNoBroker(at servers: String, because reason: String) {
        let failure = #expect(throws: Failure.self) {
            try TopicReader(clients(servers), topic: "t")
        }
        #expect(failure?.status == .unavailable)
        let beginning = "no Kafka broker answers at \(servers): \(reason)"
        #expect(failure?.message.hasPrefix(beginning) == true, "\(failure?.report ?? "")")
    }

    @Test func followLogsAnOutageAndItsEnd() async throws {
        try await onThread {
            let (broker, lines, stop) = (try EmbeddedBroker(logger: .quiet), LogRecorder(), StopSignal())
            try broker.createTopic("t", partitionCount: 1)
            let clients = KafkaClients(bootstrapServers: broker.bootstrapServers, logger: lines.makeLogger())
            let reader = try TopicReader(clients, topic: "t")
            broker.takeDown()
            Thread {
                while clients.watch.obstacle == nil { Thread.sleep(forTimeInterval: 0.01) }
                broker.bringUp()
                while clients.watch.obstacle != nil { Thread.sleep(forTimeInterval: 0.01) }
                stop.request()
            }.start()
            try reader.follow(until: stop, { _ in Int?.none }, show: { _ in })
            let text = lines.all.joined(separator: "\n")
            #expect(text.contains(/no Kafka broker answers at .*; trying again\nnotice Kafka answers at .* again/), "\(text)")
        }
    }
}
