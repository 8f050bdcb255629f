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
                // After this error a client asks again at once, so another failure has to be queued for it.
                if broker.pendingFailures(of: .initProducerID) < 2 {
                    broker.fail(
                        next: .initProducerID,
                        with: [.concurrentTransactions, .concurrentTransactions]
                    )
                }
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
            func refuse() {
                guard broker.pendingFailures(of: .initProducerID) < 2 else { return }
                broker.fail(next: .initProducerID, with: [.concurrentTransactions, .concurrentTransactions])
            }
            while producer.transactionalID == "one", .now < deadline {
                refuse()
                _ = try? producer.initTransactions(timeout: .milliseconds(50))
            }
            reporting.withLock { $0 = [] }
            while reporting.withLock(\.count) < 2, .now < deadline {
                refuse()
                producer.poll(timeout: .milliseconds(10))
            }
            #expect(reporting.withLock(\.count) == 2)
        }
    }
}
