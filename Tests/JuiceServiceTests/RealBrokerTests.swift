import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

/// What only a real broker can show. Each test creates its own topics.
@Suite(.concurrencyLimited, .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on"))
struct RealBrokerTests {
    private let partitionCount = 4

    private func makeCluster() throws -> TestCluster {
        try .real(try #require(realBroker), partitionCount: partitionCount)
    }

    @Test func topicsAsCreatedPassTheCheck() async throws {
        try await onThread {
            let cluster = try makeCluster()
            let admin = try Admin(configuration: cluster.serviceConfiguration().client, hooks: ClientHooks(logger: quietLogger))
            let check = TopicCheck(names: cluster.topics, bootstrapServers: cluster.bootstrapServers)
            #expect(try check.findings(admin, reader: nil, timeout: .seconds(10)).problems.isEmpty)
            // Creating again changes nothing and is no error.
            let plan = TopicPlan(names: cluster.topics, partitionCount: 9, replicationFactor: 1)
            #expect(try admin.create(plan.topics, timeout: .seconds(10)).isEmpty)
            #expect(try check.findings(admin, reader: nil, timeout: .seconds(10)).problems.isEmpty)
        }
    }

    @Test func unfitTopicsKeepTheServiceFromStarting() async throws {
        let bootstrapServers = try #require(realBroker)
        let names = TopicNames(prefix: "test-\(UUID().uuidString.prefix(8)).")
        let configuration = ServiceConfiguration(bootstrapServers: bootstrapServers, instanceID: "test", topics: names)
        let error = await #expect(throws: ServiceError.self) {
            try await OrderService(configuration: configuration, logger: quietLogger).run()
        }
        #expect(error?.description.contains("juice topics create") == true)
    }

    /// The service restarts between batches: the stock continues where it was, and no command is answered twice.
    @Test func stateSurvivesRestarts() async throws {
        let cluster = try await onThread { () -> TestCluster in try makeCluster() }
        for round in 0..<3 {
            try await withRunningService(cluster.serviceConfiguration(workers: 1 + round % 2)) { _ in
                let producer = try cluster.makeProducer()
                for store in 0..<8 {
                    try producer.send(
                        topic: cluster.topics.orders, key: Array("store-\(store)".utf8),
                        value: Array(#"{"orderId":"\#(round)-\#(store)","juice":"banana","quantity":2}"#.utf8),
                        timeout: .seconds(10))
                }
                let answers = try cluster.read(cluster.topics.results, partitionCount: partitionCount) {
                    $0.count >= 8 * (round + 1)
                }
                #expect(answers.count == 8 * (round + 1))
            }
        }
        let answers = try await onThread {
            try cluster.read(cluster.topics.results, partitionCount: partitionCount) { $0.count >= 24 }
        }
        // 10 bananas are enough for two orders of two juices with two bananas each.
        for store in 0..<8 {
            let mine = answers.filter { $0.key == "store-\(store)" }.sorted { $0.offset < $1.offset }
            let isMade = mine.map { $0.text.contains("juiceMade") }
            #expect(isMade == [true, true, false])
        }
    }

    /// A record that arrived compressed may exceed what a broker accepts uncompressed.
    @Test func aLargeCompressedRecordIsPutAsideAndNoPartitionStops() async throws {
        let cluster = try await onThread { () -> TestCluster in try makeCluster() }
        try await withRunningService(cluster.serviceConfiguration()) { _ in
            let producer = try Producer(
                configuration: KafkaConfiguration([
                    "bootstrap.servers": cluster.bootstrapServers, "compression.type": "gzip",
                    "message.max.bytes": "10000000",
                ]),
                hooks: ClientHooks(logger: quietLogger)
            )
            let large = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000_000)
            let order = Array(#"{"orderId":"after","juice":"kiwi"}"#.utf8)
            for value in [large, order] {
                try producer.send(topic: cluster.topics.orders, key: Array("gangnam".utf8), value: value, timeout: .seconds(20))
            }
            let answers = try cluster.read(cluster.topics.results, partitionCount: partitionCount) { !$0.isEmpty }
            #expect(answers.first?.text.contains(#""orderId":"after""#) == true)
            let letters = try cluster.read(cluster.topics.deadLetters, partitionCount: partitionCount) { !$0.isEmpty }
            #expect(letters.first?.value == large)
            #expect(letters.first?.headers.first?.text == "tooLarge")
        }
    }
}
