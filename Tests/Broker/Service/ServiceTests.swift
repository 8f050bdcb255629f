import JuiceMessages
import Kafka
import MetricsTestKit
import TestSupport
import Testing

@testable import JuiceService

/// What clients see of the service, over a real TCP connection. The embedded broker shows aborted records, so no rebalance may
/// come in the middle of a transaction: these tests wait until the service is ready.
@Suite(.concurrencyLimited) struct ServiceTests {
    @Test func aSecondGroupIsRefusedOnTheEmbeddedBroker() async throws { try await expectSecondGroupRefused(on: .embedded()) }

    /// A store is one store and an order is one order, whichever clients send it and however often.
    @Test(arguments: [1, 2]) func clientsWithAnyPartitionerReachTheSameStore(workers: Int) async throws {
        try await serveClientsWithAnyPartitioner(TestCluster.embedded(partitionCount: 5), workers: workers)
    }

    /// The topics have other partition counts than the stock topic, as after an operator has added some.
    @Test(arguments: [1, 2]) func theStockTopicsPartitionCountDecides(workers: Int) async throws {
        let counts: [Topic: Int] = [.orders: 8, .restocks: 5, .results: 6, .stock: Shop.partitionCount, .deadLetters: 2]
        let cluster = try await TestCluster.embedded(counts) { cluster in
            // A new journal on topics that differ is refused, so this one has already begun.
            let claim = #"""
                {"type":"claim","ids":[],"since":0,"group":"\#(cluster.serviceConfiguration().group)","instance":"i",\#
                "partitions":\#(Shop.partitionCount)}
                """#
            _ = try cluster.makeProducer().send(
                topic: cluster.topics.results, partition: 0, key: nil, value: Array(claim.utf8), timeout: .seconds(10))
        }
        try await withRunningService(cluster.serviceConfiguration(workers: workers)) { events in
            #expect(events.becomesReady(), "\(events.all)")
            try Shop.sendRound(0, to: cluster)
            try Shop.check(cluster.read(.results, partitionCount: 6) { $0.count >= 24 }, rounds: 1)
            let stock = try cluster.read(.stock, partitionCount: Shop.partitionCount) {
                Set($0.map(\.key)).count == Shop.stores.count
            }
            #expect(stock.allSatisfy { $0.partition == Shop.home(of: $0.key) })
        }
    }

    /// The embedded broker shows the answer of an abandoned transaction, so the service does not answer that order again.
    @Test func transactionsAreMeasured() async throws {
        let cluster = try await TestCluster.split()
        let factory = TestMetrics()
        try await withRunningService(cluster.serviceConfiguration(), metrics: factory) { events in
            #expect(events.becomesReady(), "\(events.all)")
            let till = try Till(cluster)
            #expect(try till.isAnswered(till.order(), by: events))
            #expect(wait { factory.count(.transactions, [("outcome", "committed")]) == 1 })
            #expect(wait { factory.durations(.answerLatency).count == 1 })
            #expect(factory.gauge(.restoreRemaining) == 0)
            cluster.broker.fail(next: .endTransaction, with: [.producerFenced])
            _ = try till.order()
            #expect(wait { factory.count(.transactions, [("outcome", "failed")]) == 1 })
        }
    }

    /// More workers than partitions: one of them waits, ready to take over.
    @Test func aWorkerWithoutPartitionsIsReady() async throws {
        let cluster = try await TestCluster.embedded()
        try await withRunningService(cluster.serviceConfiguration(workers: 2)) { events in
            #expect(events.becomesReady(), "\(events.all)")
        }
    }
}

/// Java's murmur2, librdkafka's CRC32 and pure chance, each client sending every order.
func serveClientsWithAnyPartitioner(_ cluster: TestCluster, workers: Int) async throws {
    let partitionCount = 5
    try await withRunningService(cluster.serviceConfiguration(workers: workers)) { events in
        #expect(events.becomesReady(), "\(events.all)")
        let clients = try ["murmur2", "consistent", "random"].map { try cluster.makeProducer(["partitioner": $0]) }
        let stores = ["gangnam", "jongno", nil]
        for number in 0..<6 {
            for store in stores {
                for client in clients { try cluster.order("\(number)", juice: "banana", of: store, by: client) }
            }
        }
        let answers = try cluster.read(.results, partitionCount: partitionCount) { $0.count >= 54 }
        #expect(answers.count == 54)
        for store in stores {
            let answers = answers.filter { $0.key == store ?? "main" }
            let owner = Array((store ?? "main").utf8).withUnsafeBytes {
                Murmur2.partition(of: $0, count: Int32(partitionCount))
            }
            #expect(answers.allSatisfy { $0.partition == owner })
            // 10 bananas make 5 juices of 2, and the sixth order is out of stock.
            let first = answers.filter { !$0.text.contains(#""duplicate":true"#) }.sorted { $0.offset < $1.offset }
            #expect(first.map { $0.text.contains("revision") } == [true, true, true, true, true, false])
            #expect(first.last?.text.contains("outOfStock") == true)
            #expect(answers.count - first.count == 12)
        }
        #expect(events.committed.reduce(0) { $0 + $1.forwarded } > 0)
        let stock = try cluster.read(.stock, partitionCount: partitionCount) { records in
            Set(records.filter { $0.text.contains(#""banana":0"#) }.map(\.key)).count == 3
        }
        #expect(stock.contains { $0.text.contains(#""revision":5"#) })
    }
}

/// Stores that live in four partitions, and rounds of commands for them.
enum Shop {
    static let partitionCount = 4
    static let stores = (0..<12).map { "store-\($0)" }

    /// Sends an order and a restock for each store.
    static func sendRound(_ round: Int, to cluster: TestCluster) throws {
        let producer = try cluster.makeProducer()
        for store in stores {
            try cluster.order("\(round)", of: store, by: producer)
            try producer.send(
                topic: cluster.topics.restocks, key: Array(store.utf8),
                value: Array(#"{"restockId":"\#(round)","add":{"mango":1}}"#.utf8), timeout: .seconds(60))
        }
    }

    /// Checks that each command has one answer, in its store's home partition, and that each store's restocks add up.
    static func check(_ answers: [ReadRecord], rounds: Int) throws {
        #expect(answers.count == rounds * stores.count * 2)
        #expect(answers.allSatisfy { $0.partition == home(of: $0.key) })
        for store in stores {
            let own = answers.filter { $0.key == store }
            #expect(own.count { $0.text.contains("orderId") && $0.text.contains("revision") } == rounds)
            #expect(own.contains { $0.text.contains(#""left":{"mango":\#(10 + rounds)}"#) })
        }
    }

    static func home(of store: String?) -> Int32 {
        Array((store ?? "").utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: Int32(partitionCount)) }
    }
}
