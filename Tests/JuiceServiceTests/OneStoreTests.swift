import Foundation
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// A store is one store and an order is one order, whichever clients send it and however often.
@Suite(.concurrencyLimited) struct OneStoreTests {
    private static let partitionCount = 5

    @Test func clientsWithAnyPartitionerReachTheSameStore() async throws {
        try await serveClientsWithAnyPartitioner(TestCluster.embedded(partitionCount: Self.partitionCount))
    }

    @Test(.enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run this on"))
    func clientsWithAnyPartitionerReachTheSameStoreOnARealBroker() async throws {
        let cluster = try await onThread { () -> TestCluster in
            try .real(try #require(realBroker), partitionCount: Self.partitionCount)
        }
        try await serveClientsWithAnyPartitioner(cluster)
    }

    /// Java's murmur2, librdkafka's CRC32 and pure chance, each client sending every order.
    private func serveClientsWithAnyPartitioner(_ cluster: TestCluster) async throws {
        let configuration = cluster.serviceConfiguration(workers: 2)
        try await withRunningService(configuration) { events in
            // The embedded broker shows aborted records, so a rebalance in the middle of a transaction would change the answers.
            #expect(wait { events.isReady || events.hasFailed }, "\(events.all)")
            let clients = try ["murmur2", "consistent", "random"].map { try cluster.makeProducer(partitioner: $0) }
            let stores = ["gangnam", "jongno", nil]
            for number in 0..<6 {
                for store in stores {
                    for client in clients {
                        try client.send(
                            topic: cluster.topics.orders, key: store.map { Array($0.utf8) },
                            value: Array(#"{"orderId":"\#(number)","juice":"banana"}"#.utf8), timeout: .seconds(60))
                    }
                }
            }
            let answers = try cluster.read(cluster.topics.results, partitionCount: Self.partitionCount) { $0.count >= 54 }
            #expect(answers.count == 54)
            for store in stores {
                let answers = answers.filter { $0.key == store ?? "main" }
                let owner = Array((store ?? "main").utf8).withUnsafeBytes {
                    Murmur2.partition(of: $0, count: Int32(Self.partitionCount))
                }
                #expect(answers.allSatisfy { $0.partition == owner })
                let first = answers.filter { !$0.text.contains(#""duplicate":true"#) }
                // 10 bananas make 5 juices of 2, and the sixth order is out of stock.
                #expect(first.count { $0.text.contains("juiceMade") } == 5)
                #expect(first.count { $0.text.contains("outOfStock") } == 1)
                #expect(answers.count - first.count == 12)
            }
            let forwarded = events.committed.reduce(0) { $0 + $1.forwarded }
            #expect(forwarded > 0)
        }
    }

    @Test(.enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run this on"))
    func aRepeatIsKnownToAnotherInstanceAfterARestart() async throws {
        let cluster = try await onThread { () -> TestCluster in
            try .real(try #require(realBroker), partitionCount: Self.partitionCount)
        }
        for (round, instance) in ["one", "one", "two"].enumerated() {
            let answers = try await withRunningService(cluster.serviceConfiguration(instanceID: instance)) { _ in
                try cluster.makeProducer().send(
                    topic: cluster.topics.orders, key: Array("gangnam".utf8),
                    value: Array(#"{"orderId":"a","juice":"banana"}"#.utf8), timeout: .seconds(60))
                return try cluster.read(cluster.topics.results, partitionCount: Self.partitionCount) { $0.count > round }.map(
                    \.text)
            }
            #expect(answers.map { $0.contains(#""duplicate":true"#) } == (0...round).map { $0 > 0 })
        }
    }
}
