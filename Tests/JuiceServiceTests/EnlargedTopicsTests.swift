import CRdKafka
import JuiceMessages
import TestSupport
import Testing

@testable import JuiceService
@testable import Kafka

/// Topics to which an operator added partitions: stores stay where they live, and every command is answered.
@Suite(.concurrencyLimited) struct EnlargedTopicsTests {
    private static let storePartitions = 4
    private static let stores = (0..<12).map { "store-\($0)" }

    @Test(arguments: [1, 2]) func whateverTheirNumbersAreTheStockTopicsCounts(workers: Int) async throws {
        let broker = try EmbeddedBroker(logger: quietLogger)
        let topics = TopicNames()
        for (name, count) in zip(topics.all, [8, 5, 6, Self.storePartitions, 2]) {
            try broker.createTopic(name, partitionCount: count)
        }
        let cluster = TestCluster(bootstrapServers: broker.bootstrapServers, broker: broker, topics: topics)
        try await withRunningService(cluster.serviceConfiguration(workers: workers)) { events in
            // As in ``OneStoreTests``, no rebalance may come in the middle of a transaction.
            #expect(wait { events.isReady || events.hasFailed }, "\(events.all)")
            try Self.sendRound(0, to: cluster)
            let answers = try cluster.read(topics.results, partitionCount: 6) { $0.count >= 24 }
            try Self.check(answers, rounds: 1)
            let stock = try cluster.read(topics.stock, partitionCount: Self.storePartitions) {
                Set($0.map(\.key)).count == Self.stores.count
            }
            #expect(stock.allSatisfy { $0.partition == Self.home(of: $0.key) })
        }
    }

    /// The orders are enlarged while the service runs, the others, with the stock topic, before it starts again.
    @Test(.enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run this on"))
    func storesStayWhereTheyLive() async throws {
        let cluster = try await onThread { () -> TestCluster in
            try .real(try #require(realBroker), partitionCount: Self.storePartitions)
        }
        var configuration = cluster.serviceConfiguration()
        configuration.kafkaProperties["topic.metadata.refresh.interval.ms"] = "200"
        try await withRunningService(configuration) { _ in
            try Self.sendRound(0, to: cluster)
            let first = try cluster.read(cluster.topics.results, partitionCount: Self.storePartitions) { $0.count >= 24 }
            try Self.check(first, rounds: 1)
            try cluster.enlarge([cluster.topics.orders], to: 8)
            try Self.sendRound(1, to: cluster)
            let second = try cluster.read(cluster.topics.results, partitionCount: Self.storePartitions) { $0.count >= 48 }
            try Self.check(second, rounds: 2)
        }
        try await onThread {
            let topics = cluster.topics
            try cluster.enlarge([topics.restocks, topics.results, topics.stock], to: 8)
        }
        let log = LogRecorder()
        try await withRunningService(configuration, logger: log.makeLogger()) { _ in
            try Self.sendRound(2, to: cluster)
            let answers = try cluster.read(cluster.topics.results, partitionCount: 8) { $0.count >= 72 }
            try Self.check(answers, rounds: 3)
        }
        #expect(log.all.contains { $0.contains("stores live in 4 partitions, but") })
    }

    @Test(.enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run this on"))
    func anEnlargedStockTopicWithoutANoteIsRefused() async throws {
        let cluster = try await onThread { () -> TestCluster in
            let cluster = try TestCluster.real(try #require(realBroker), partitionCount: Self.storePartitions)
            // As an instance that counts four partitions would write it.
            try cluster.makeProducer().send(
                Self.stores.map { store in
                    .init(
                        topic: cluster.topics.stock, partition: Self.home(of: store), key: Array(store.utf8),
                        value: Array(#"{"store":"\#(store)","revision":1,"stock":{"kiwi":1}}"#.utf8))
                })
            let topics = cluster.topics
            try cluster.enlarge([topics.orders, topics.restocks, topics.results, topics.stock], to: 8)
            return cluster
        }
        let service = OrderService(configuration: cluster.serviceConfiguration(), logger: quietLogger)
        let error = await #expect(throws: ServiceError.self) { try await service.run() }
        #expect(error?.description.contains("the topic was enlarged") == true)
    }

    /// An order and a restock for each store.
    private static func sendRound(_ round: Int, to cluster: TestCluster) throws {
        let producer = try cluster.makeProducer()
        for store in stores {
            for (topic, value) in [
                (cluster.topics.orders, #"{"orderId":"\#(round)","juice":"kiwi"}"#),
                (cluster.topics.restocks, #"{"restockId":"\#(round)","add":{"mango":1}}"#),
            ] { try producer.send(topic: topic, key: Array(store.utf8), value: Array(value.utf8), timeout: .seconds(60)) }
        }
    }

    /// Checks that each command has one answer, in its store's home partition, and that each store's restocks add up.
    private static func check(_ answers: [ReadRecord], rounds: Int) throws {
        #expect(answers.count == rounds * stores.count * 2)
        #expect(answers.allSatisfy { $0.partition == home(of: $0.key) })
        for store in stores {
            let own = answers.filter { $0.key == store }
            #expect(own.count { $0.text.contains(#""type":"juiceMade""#) } == rounds)
            #expect(own.contains { $0.text.contains(#""left":{"mango":\#(10 + rounds)}"#) })
        }
    }

    private static func home(of store: String?) -> Int32 {
        Array((store ?? "").utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: Int32(storePartitions)) }
    }
}

extension TestCluster {
    /// Adds partitions, as an operator does by hand.
    fileprivate func enlarge(_ names: [String], to count: Int) throws {
        let admin = try Admin(
            configuration: KafkaConfiguration(["bootstrap.servers": bootstrapServers]), hooks: ClientHooks(logger: quietLogger))
        var reason = [CChar](repeating: 0, count: 256)
        var additions = names.map { rd_kafka_NewPartitions_new($0, count, &reason, reason.count) }
        defer { for case let addition? in additions { rd_kafka_NewPartitions_destroy(addition) } }
        let event = try admin.handle.request(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, timeout: .seconds(60)) { options, queue in
            rd_kafka_CreatePartitions(admin.handle.pointer, &additions, additions.count, options, queue)
        }
        rd_kafka_event_destroy(event)
        let isKnown = {
            let metadata = try? admin.metadata(topics: names, timeout: .seconds(60))
            return names.allSatisfy { metadata?[$0]?.partitionCount == count }
        }
        #expect(wait(until: isKnown))
    }
}
