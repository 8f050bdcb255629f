import BrokerFaults
import JuiceEngine
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import JuiceService

@Suite(.concurrencyLimited) struct LogExtentsTests {
    /// Every topic counts, also the one that is only written to now and then: it may not be there when it is needed.
    @Test(arguments: Topic.allCases) func aTopicThatIsGoneIsNoticed(topic: Topic) async throws {
        let cluster = try await TestCluster.single()
        try await onThread {
            let broker = try #require(cluster.broker)
            let configuration = cluster.serviceConfiguration()
            let consumer = try Consumer(configuration: configuration.logEndConsumer, hooks: ClientHooks(logger: quietLogger))
            var logs = LogExtents(configuration: configuration, consumer: consumer)
            let share = InputShare(orders: [0], partitionCount: 1, orderCount: 1, restockCount: 1)
            func read() throws(LogError) -> [PartitionExtents] {
                try logs.read([0], of: share, closedConnections: 0, timeout: .seconds(60)).extents
            }
            #expect(try read().count == 1)
            let name = cluster.topics[topic]
            broker.setError(.unknownTopicOrPartition, ofTopic: name)
            let error = #expect(throws: LogError.self) { try read() }
            #expect(error?.remedy == .retry)
            #expect(error?.message.contains(name) == true)
            broker.setError(nil, ofTopic: name)
            #expect(try read().count == 1)
        }
    }
}
