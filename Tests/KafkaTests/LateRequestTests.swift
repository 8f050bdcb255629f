import BrokerFaults
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import struct Kafka.LateRequestGuard
@testable import enum Kafka.TransactionalCall

/// A producer that may have sent a request twice takes over its own transactional id.
@Suite(.concurrencyLimited) struct LateRequestTests {
    @Test(arguments: [
        (isJittered: false, took: 99, closed: 1, isSuspect: false),
        (false, 100, 1, true),
        // From librdkafka 2.3 on a backoff is up to a fifth shorter.
        (true, 79, 1, false),
        (true, 80, 1, true),
        (true, 5_000, 3, true),
        // Over an intact connection no request is sent twice, however long its response takes.
        (false, 5_000, 0, false),
    ])
    func aBrokenConnectionAndABackoffAreSuspect(isJittered: Bool, took: Int, closed: Int, isSuspect: Bool) {
        var lateRequests = LateRequestGuard(backoff: .milliseconds(100), isJittered: isJittered)
        lateRequests.began(closedConnections: 4)
        let isNews = lateRequests.took(.milliseconds(took), for: .commit, closedConnections: 4 + closed)
        #expect(isNews == isSuspect)
        #expect(lateRequests.isSuspect == isSuspect)
        let isToldAgain = lateRequests.took(.seconds(10), for: .commit, closedConnections: 4 + closed)
        #expect(!isToldAgain || !isSuspect)
    }

    /// A repeated call may wait for a request that the call before it has sent.
    @Test func theCallsOfATransactionCountTogether() {
        var lateRequests = LateRequestGuard(backoff: .milliseconds(100), isJittered: false)
        lateRequests.began(closedConnections: 0)
        let first = lateRequests.took(.milliseconds(450), for: .sendOffsets, closedConnections: 0)
        #expect(!first)
        let second = lateRequests.took(.milliseconds(50), for: .sendOffsets, closedConnections: 1)
        #expect(second && lateRequests.mayLeaveOffsets)
        // The next transaction begins without requests in progress.
        lateRequests = LateRequestGuard(backoff: .milliseconds(100), isJittered: false)
        lateRequests.began(closedConnections: 0)
        _ = lateRequests.took(.milliseconds(450), for: .commit, closedConnections: 0)
        lateRequests.began(closedConnections: 1)
        let later = lateRequests.took(.milliseconds(450), for: .commit, closedConnections: 1)
        #expect(!later)
    }

    /// A fatal error may come from a record, while the offsets are still on their way.
    @Test(arguments: [(TransactionalCall.sendOffsets, true), (.commit, false)])
    func aCallCutShortMayLeaveItsRequestBehind(call: TransactionalCall, mayLeaveOffsets: Bool) {
        var lateRequests = LateRequestGuard(backoff: .milliseconds(100), isJittered: false)
        lateRequests.began(closedConnections: 0)
        lateRequests.wasCutShort(call)
        #expect(lateRequests.mayLeaveOffsets == mayLeaveOffsets)
    }

    /// A producer that moves on every half second may have left a request at each id within the last minute.
    @Test func anIDIsUsedAgainAfterAMinute() {
        let ids = (0..<1_000).map { TransactionalProducer.transactionalID("one", generation: $0) }
        #expect(Set(ids.prefix(120)).count == 120)
        #expect(Set(ids).count < 200)
    }

    @Test(arguments: [
        (EmbeddedBroker.Request.transactionalOffsetCommit, KafkaError.Code.transport),
        // INVALID_TXN_STATE, which is fatal to the client.
        (EmbeddedBroker.Request.addOffsetsToTransaction, KafkaError.Code(rawValue: 48)),
    ])
    func whoMayLeaveOffsetsBehindMovesOnToAnotherID(
        request: EmbeddedBroker.Request,
        error: KafkaError.Code
    ) async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer) = (stand.broker, stand.producer)
            let member = try broker.member(of: ["in"])
            let membership = try #require(member.membership)
            try producer.begin(timeout: .seconds(60))
            broker.fail(next: request, with: [error])
            do throws(KafkaError) {
                try producer.sendOffsets(
                    [TopicPartition(topic: "in", partition: 0): 1],
                    membership: membership,
                    timeout: .seconds(60)
                )
                try producer.commit(timeout: .seconds(60))
            } catch {
                #expect(error.isFatal)
                producer.drop()
            }
            try producer.initTransactions(timeout: .seconds(60))
            #expect(producer.transactionalID == "one/1")
            member.close()
        }
    }

    @Test func aSuspectIsReplacedBeforeItsNextTransaction() async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer, out) = (stand.broker, stand.producer, stand.out)
            func transact() throws {
                try producer.begin(timeout: .seconds(60))
                try out.produce(partition: 0, key: nil, value: nil, headers: [])
                try producer.commit(timeout: .seconds(60))
            }
            broker.fail(next: .endTransaction, with: [.transport])
            try transact()
            #expect(stand.suspicions.count == 1)
            #expect(!producer.isReady)
            try transact()
            #expect(producer.isReady)
            #expect(stand.suspicions.count == 1)
        }
    }

    @Test func aSlowBrokerIsNoReasonForSuspicion() async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer, out) = (stand.broker, stand.producer, stand.out)
            broker.setRoundTrip(.milliseconds(150))
            for _ in 0..<3 {
                try producer.begin()
                try out.produce(partition: 0, key: nil, value: nil, headers: [])
                try producer.commit(timeout: .seconds(60))
            }
            #expect(stand.suspicions.count == 0)
        }
    }

    /// Resending records sends no transactional request twice.
    @Test func flushingIsNoReasonForSuspicion() async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer, out) = (stand.broker, stand.producer, stand.out)
            try producer.begin()
            broker.fail(next: .produce, with: [.transport])
            try out.produce(partition: 0, key: nil, value: nil, headers: [])
            try producer.flush(timeout: .seconds(60))
            #expect(broker.pendingFailures(of: .produce) == 0)
            #expect(stand.suspicions.count == 0)
        }
    }

    /// Late requests of one producer could form a transaction and commit older offsets after the other's.
    @Test func aSuspectIsReplacedBeforeTheOtherProducerSendsOffsets() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1, "out": 1])
            let member = try broker.member(of: ["in"])
            let membership = try #require(member.membership)
            let suspicions = Counter()
            let producers = try ["one", "two"].map { try Self.producer(broker, id: $0, suspicions) }
            let session = try TransactionSession(producers, topics: [("out", [:])])
            try session.initTransactions(timeout: .seconds(60))
            func transact(_ offset: Offset) throws {
                try session.begin(timeout: .seconds(60))
                try session.produce(to: 0, partition: 0, key: nil, value: nil, headers: [])
                try session.sendOffsets(
                    [TopicPartition(topic: "in", partition: 0): offset],
                    membership: membership,
                    timeout: .seconds(60)
                )
                // Only this transaction's producer may have become a suspect since.
                #expect(producers.filter(\.isReady).count >= 1)
                try session.commit(timeout: .seconds(60))
            }
            broker.fail(next: .addOffsetsToTransaction, with: [.transport])
            try transact(1)
            #expect(suspicions.count == 1)
            try transact(2)
            #expect(producers.allSatisfy { $0.isReady })
            member.close()
        }
    }

    /// librdkafka cannot resume this call, and a second one would leave requests of the first behind.
    @Test func offsetsAreSentOnceHoweverOftenTheyAreWaitedFor() async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer, out) = (stand.broker, stand.producer, stand.out)
            let member = try broker.member(of: ["in"])
            let membership = try #require(member.membership)
            broker.setRoundTrip(.milliseconds(300))
            try producer.begin(timeout: .seconds(60))
            try out.produce(partition: 0, key: nil, value: nil, headers: [])
            var attempts = 0
            try retrying(while: { attempts < 100 }) { () throws(KafkaError) in
                attempts += 1
                try producer.sendOffsets(
                    [TopicPartition(topic: "in", partition: 0): 1],
                    membership: membership,
                    timeout: .milliseconds(100)
                )
            }
            // Each of its two requests takes as long as several attempts.
            #expect(attempts > 3)
            try producer.commit(timeout: .seconds(60))
            #expect(stand.suspicions.count == 0)
            member.close()
        }
    }

    /// librdkafka can resume a commit, but mistakes the outcome of one attempt for that of the next and ends the process.
    @Test func aCommitIsWaitedForInPieces() async throws {
        try await onThread {
            let stand = try Stand()
            let (broker, producer, out) = (stand.broker, stand.producer, stand.out)
            broker.setRoundTrip(.milliseconds(5))
            for _ in 0..<100 {
                try producer.begin(timeout: .seconds(60))
                try out.produce(partition: 0, key: nil, value: nil, headers: [])
                try producer.flush(timeout: .seconds(60))
                try retrying(while: { true }) { () throws(KafkaError) in
                    try producer.commit(timeout: .milliseconds(1))
                }
            }
            #expect(stand.suspicions.count == 0)
        }
    }

    /// A producer that holds its transactional id, and a topic to produce to.
    private struct Stand {
        let broker: EmbeddedBroker
        let producer: TransactionalProducer
        let out: TransactionalTopic
        let suspicions = Counter()

        init() throws {
            broker = try EmbeddedBroker.start(topics: ["in": 1, "out": 1])
            producer = try LateRequestTests.producer(broker, id: "one", suspicions)
            out = try producer.topic("out")
            try producer.initTransactions(timeout: .seconds(60))
        }
    }

    private final class Counter: Sendable {
        private let value = Mutex(0)
        var count: Int { value.withLock { $0 } }
        func increment() { value.withLock { $0 += 1 } }
    }

    private static func producer(
        _ broker: EmbeddedBroker,
        id: String,
        _ suspicions: Counter
    ) throws -> TransactionalProducer {
        var hooks = quietHooks
        hooks.onSuspect = { suspicions.increment() }
        return try TransactionalProducer(
            configuration: broker.client(["transactional.id": id, "linger.ms": "0"]),
            hooks: hooks
        )
    }
}
