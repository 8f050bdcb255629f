import BrokerFaults
import Kafka
import Synchronization
import TestSupport
import Testing

/// A transactional id that cannot be taken over holds up nobody, and is asked for in the background.
@Suite(.concurrencyLimited) struct TransactionalIDTests {
    /// The coordinator cannot end a transaction while one of its partitions has no leader.
    @Test func anIDThatCannotBeTakenOverIsLeftForAnother() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "one", "linger.ms": "0"]),
                hooks: quietHooks,
                decisionTimeout: .seconds(1)
            )
            let out = try producer.topic("out")
            let deadline = ContinuousClock.now + .seconds(60)
            while producer.transactionalID == "one", .now < deadline {
                refuseID(broker)
                _ = try? producer.initTransactions(timeout: .milliseconds(50))
            }
            try retrying(while: { .now < deadline }) { () throws(KafkaError) in
                try producer.initTransactions(timeout: .milliseconds(50))
            }
            #expect(producer.transactionalID == "one/1")
            #expect(producer.isReady)
            try producer.begin()
            try out.produce(partition: 0, key: nil, value: nil, headers: [])
            try producer.commit(timeout: .seconds(60))
            // The abandoned id is still taken over, in the background.
            producer.poll(timeout: .milliseconds(10))
            #expect(producer.isReady)
        }
    }

    /// A client whose events nobody takes grows without limit for as long as it asks for its id.
    @Test func aClientThatStillAsksForItsIDIsPolled() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            let reporting = Mutex<Set<String>>([])
            var hooks = quietHooks
            hooks.onStatistics = { json in
                guard let name = json.firstMatch(of: /"name": ?"([^"]*)"/)?.output.1 else { return }
                reporting.withLock { _ = $0.insert(String(name)) }
            }
            let producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "one", "statistics.interval.ms": "50"]),
                hooks: hooks,
                decisionTimeout: .milliseconds(100)
            )
            let deadline = ContinuousClock.now + .seconds(60)
            while producer.transactionalID == "one", .now < deadline {
                refuseID(broker)
                _ = try? producer.initTransactions(timeout: .milliseconds(50))
            }
            reporting.withLock { $0 = [] }
            while reporting.withLock(\.count) < 2, .now < deadline {
                refuseID(broker)
                producer.poll(timeout: .milliseconds(10))
            }
            #expect(reporting.withLock(\.count) == 2)
        }
    }

    /// Lets the coordinator be busy with the last transaction of the id. A client asks again at once after this error, so
    /// another is queued for that.
    private func refuseID(_ broker: EmbeddedBroker) {
        guard broker.pendingFailures(of: .initProducerID) < 2 else { return }
        broker.fail(next: .initProducerID, with: [.concurrentTransactions, .concurrentTransactions])
    }
}
