import BrokerFaults
import TestSupport
import Testing

@testable import Kafka

/// A consumer finds a leader that moved although the former one goes on answering.
@Suite(.concurrencyLimited) struct LeaderRefreshTests {
    @Test(
        .enabled(
            if: !KafkaConfiguration.noticesMovedLeaders,
            "this librdkafka is refused by a former leader, and asks by itself"
        )
    )
    func aLeaderThatMovedIsFoundWithoutAnError() async throws {
        try await onThread {
            let partition = TopicPartition(topic: "in", partition: 0)
            let broker = try EmbeddedBroker(brokerCount: 2, logger: quietHooks.logger)
            try broker.createTopic("in", partitionCount: 1)
            broker.setLeader(1, of: partition)
            let consumer = try broker.consumer()
            try consumer.assign([partition: 0])
            let producer = try broker.producer()
            func isRead(_ text: String) throws -> Bool {
                try producer.send(topic: "in", key: nil, value: Array(text.utf8), timeout: .seconds(60))
                var isRead = false
                try poll(consumer, until: { isRead }) { element in
                    if case .record(let record) = element { isRead = record.value?.text == text }
                }
                return isRead
            }
            #expect(try isRead("before"))

            // What a broker that is shutting down answers: nothing new, and no hint. Twice a second, for longer than the test.
            broker.fail(next: .fetch, with: Array(repeating: KafkaError.Code(rawValue: 78), count: 1000))
            broker.setLeader(2, of: partition)
            #expect(try isRead("after"))
            #expect(broker.pendingFailures(of: .fetch) > 900)
            consumer.close()
        }
    }
}
