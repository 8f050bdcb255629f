import BrokerFaults
import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// The brokers that a service was given may die while the rest of the cluster lives.
@Suite(.concurrencyLimited) struct BootstrapTests {
    @Test func newClientsFindTheClusterByTheBrokersThatItNamed() async throws {
        let cluster = try await TestCluster.split()
        let broker = try #require(cluster.broker)
        var given = cluster.impatientConfiguration()
        let addresses = cluster.bootstrapServers.split(separator: ",")
        given.bootstrapServers = try String(#require(addresses.last))
        let configuration = given
        try await withRunningService(configuration) { events in
            // The given broker leads nothing.
            for name in [cluster.topics.orders, cluster.topics.restocks] {
                broker.setLeader(1, of: TopicPartition(topic: name, partition: 0))
            }
            // An answer proves nothing: the embedded broker shows those of aborted transactions, too. So does the journal
            // there, and the service takes the second order for answered.
            let till = try Till(cluster)
            _ = try till.order()
            #expect(wait { events.committed.count == 1 })
            broker.takeDown(broker: 2)
            // New producers take the place of fenced ones.
            broker.fail(next: .endTransaction, with: [.producerFenced])
            _ = try till.order()
            #expect(wait(upTo: .seconds(20)) { events.takeovers == 2 }, "\(events.all.suffix(5))")
            _ = try till.order()
            #expect(wait(upTo: .seconds(20)) { events.committed.count == 2 }, "\(events.all.suffix(5))")
        }
    }

    @Test(arguments: [
        (["b:9092"], "a:9092,b:9092"), (["a:9092"], "a:9092"), (["c:9092", "a:9092", "b:9093"], "a:9092,c:9092,b:9093"),
        // librdkafka would read it as a host with a port.
        (["2001:db8::1:9092"], "a:9092"),
        ([], "a:9092"),
    ])
    func namedBrokersAreAddedOnce(brokers: [String], all: String) {
        let configuration = ServiceConfiguration(bootstrapServers: "a:9092", instanceID: "one")
        #expect(configuration.knowing(brokers: brokers).bootstrapServers == all)
    }
}

extension EventLog {
    /// How often the worker has taken over its partitions.
    fileprivate var takeovers: Int { all.count { if case .restored = $0 { true } else { false } } }
}
