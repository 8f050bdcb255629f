import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// The main path over a real TCP connection, on the embedded broker.
@Suite(.concurrencyLimited) struct MainPathTests {
    @Test(arguments: [1, 2]) func ordersAndRestocksAreAnswered(workers: Int) async throws {
        let cluster = try TestCluster.embedded(partitionCount: 4)
        let configuration = cluster.serviceConfiguration(workers: workers)
        try await withRunningService(configuration) { events in
            // As in ``OneStoreTests``, no rebalance may come in the middle of a transaction.
            #expect(wait { events.isReady || events.hasFailed }, "\(events.all)")
            let producer = try cluster.makeProducer()
            for store in ["gangnam", "jongno", "mapo"] {
                for number in 1...8 {
                    try producer.send(
                        topic: cluster.topics.orders, key: Array(store.utf8),
                        value: Array(#"{"orderId":"\#(store)-\#(number)","juice":"banana"}"#.utf8), timeout: .seconds(60))
                }
            }
            let results = try cluster.read(cluster.topics.results, partitionCount: 4) { $0.count >= 24 }
            #expect(results.count == 24)
            for store in ["gangnam", "jongno", "mapo"] {
                let answers = results.filter { $0.key == store }
                #expect(Set(answers.map(\.partition)).count == 1)
                // 10 bananas make 5 juices of 2.
                let types = answers.sorted { $0.offset < $1.offset }.map { $0.text.prefix(20) }
                #expect(types.prefix(5).allSatisfy { $0.contains("juiceMade") })
                #expect(types.dropFirst(5).allSatisfy { $0.contains("outOfStock") })
                #expect(types.count == 8)
            }
            let stock = try cluster.read(cluster.topics.stock, partitionCount: 4) { records in
                Set(records.filter { $0.text.contains(#""banana":0"#) }.map(\.key)).count == 3
            }
            #expect(stock.contains { $0.text.contains(#""revision":5"#) })
        }
    }

    /// More workers than partitions: one of them waits, ready to take over.
    @Test func aWorkerWithoutPartitionsIsReady() async throws {
        let cluster = try await TestCluster.single()
        try await withRunningService(cluster.serviceConfiguration(workers: 2)) { events in
            #expect(wait { events.isReady || events.hasFailed }, "\(events.all)")
            #expect(!events.hasFailed)
        }
    }
}
