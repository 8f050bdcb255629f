import BrokerFaults
import TestSupport
import Testing

@testable import Kafka

/// Leaders that moved are found where librdkafka would find them too late.
@Suite(.concurrencyLimited) struct LeaderRefreshTests {
    @Test(
        .enabled(if: !KafkaConfiguration.noticesMovedLeaders, "this librdkafka is refused by a former leader, and asks by itself"))
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

    @Test func aTransactionAsksForTheLeaderWhileABrokerIsGone() async throws {
        try await onThread {
            let partition = TopicPartition(topic: "out", partition: 0)
            let broker = try EmbeddedBroker(brokerCount: 2, logger: quietHooks.logger)
            try broker.createTopic("out", partitionCount: 1)
            broker.setLeader(1, of: partition)
            broker.setCoordinator(2, ofTransactionalID: "one/0")
            let recorder = LogRecorder()
            let session = broker.session(["debug": "metadata"], hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            try session.initTransactions(timeout: .seconds(60))
            func begin() throws {
                try session.begin()
                try session.produce()
            }
            func isCommitted() throws -> Bool {
                do throws(KafkaError) {
                    try session.commit(timeout: .milliseconds(200))
                    return true
                } catch {
                    guard error.remedy == .retry else { throw error }
                    return false
                }
            }
            let deadline = ContinuousClock.now + .seconds(60)
            try begin()
            while try !isCommitted(), .now < deadline {}
            var hasAsked: Bool { recorder.all.contains { $0.contains("application requested") } }
            #expect(!hasAsked)

            broker.takeDown(broker: 1)
            try begin()
            while !hasAsked, .now < deadline { #expect(try !isCommitted()) }
            #expect(hasAsked)
            broker.setLeader(2, of: partition)
            while try !isCommitted(), .now < deadline {}
            #expect(.now < deadline)
        }
    }
}
