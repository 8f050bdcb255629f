import BrokerFaults
import Foundation
import Kafka
import TestSupport
import Testing

@testable import class Kafka.AppliedOffsets
@testable import class Kafka.GroupOffsets

/// A producer sends no offsets before those of its last transaction are applied.
@Suite(.concurrencyLimited) struct AppliedOffsetsTests {
    private static let (first, second) = (
        TopicPartition(topic: "in", partition: 0), TopicPartition(topic: "in", partition: 1)
    )

    @Test(
        arguments: [
            // Only an offset that moved shows which transaction it comes from.
            (last: [first: Offset(1)], sent: [first: Offset(2)], evidence: (first, Offset(2))),
            ([first: 1, second: 5], [first: 1, second: 6], (second, 6)),
            ([first: 2], [first: 1], (first, 1)),
            ([:], [first: 2], (first, nil)),
            ([first: 2], [first: 2], (first, nil)),
            ([second: 1], [first: 2], (first, nil)),
            ([first: 2], [:], nil),
        ] as [([TopicPartition: Offset], [TopicPartition: Offset], (TopicPartition, Offset?)?)]
    )
    func anOffsetThatMovedIsEvidence(
        last: [TopicPartition: Offset],
        sent: [TopicPartition: Offset],
        evidence: (TopicPartition, Offset?)?
    ) {
        let found = AppliedOffsets.Evidence(of: sent, after: last)
        #expect(found?.partition == evidence?.0)
        #expect(found?.offset == evidence?.1)
    }

    @Test func offsetsWaitForThoseOfTheLastTransaction() async throws {
        try await onThread {
            let stand = try Stand()
            // Nothing was committed before the first, so any stable answer will do for it.
            try stand.transact(1)
            try stand.transact(2)
            // The embedded broker ignores a transaction's offsets, as Kafka does for a while.
            let error = #expect(throws: KafkaError.self) {
                try stand.transact(3, timeout: .milliseconds(100))
            }
            #expect(error?.remedy == .retry)
            try stand.member.consumer.commit([Self.first: 2])
            try stand.finish(3)
            // Others' offsets may be applied later than these and seen sooner.
            try stand.member.consumer.commit([Self.first: 7])
            try stand.transact(4)
            stand.member.close()
        }
    }

    /// Who restores partitions does not know whose offsets they stand at.
    @Test func aRestoreMakesAnyStableOffsetEvidence() async throws {
        try await onThread {
            let stand = try Stand()
            try stand.transact(1)
            stand.applied.forget()
            try stand.transact(2)
            try stand.transact(3)
            stand.member.close()
        }
    }

    @Test func anUnstableOffsetOrAMissingCoordinatorIsAskedForAgain() async throws {
        try await onThread {
            let stand = try Stand()
            let (unstable, notCoordinator) = (KafkaError.Code(rawValue: 88), KafkaError.Code(rawValue: 16))
            stand.broker.fail(next: .offsetFetch, with: [unstable, notCoordinator, unstable])
            try stand.transact(1)
            try stand.transact(2)
            #expect(stand.broker.pendingFailures(of: .offsetFetch) == 0)
            stand.member.close()
        }
    }

    /// librdkafka goes on looking for the coordinator when nobody waits for the answer any more.
    @Test func whoGaveUpDoesNoHarmOnceTheCoordinatorIsFound() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1])
            let client = try GroupOffsets.Client(broker.client(["group.id": "g"]), quietHooks)
            func committed(timeout: Duration) throws(KafkaError) -> Offset? {
                try client.committed(Self.first, .latest, timeout: timeout)
            }
            broker.takeDown()
            for _ in 0..<3 {
                let error = #expect(throws: KafkaError.self) { try committed(timeout: .milliseconds(50)) }
                #expect(error?.code == .timedOut)
            }
            broker.bringUp()
            #expect(try committed(timeout: .seconds(60)) == nil)
        }
    }

    /// librdkafka goes on asking the broker that it has once found to be the coordinator.
    @Test func aCoordinatorThatMovedIsFound() async throws {
        try await onThread {
            let stand = try Stand(brokerCount: 2)
            try stand.transact(1)
            try stand.transact(1)
            stand.broker.setCoordinator(2, ofGroup: "test")
            let notCoordinator = KafkaError.Code(rawValue: 16)
            stand.broker.fail(next: .offsetFetch, with: Array(repeating: notCoordinator, count: 100))
            try stand.transact(1)
            try stand.transact(1)
            #expect(stand.broker.pendingFailures(of: .offsetFetch) > 90)
            stand.member.close()
        }
    }

    /// Each producer of a worker has a thread that waits for its offsets. All share a client, and the first that hears of another
    /// coordinator replaces it.
    @Test func aReplacedClientLivesWhileAnotherThreadWaitsOnIt() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["in": 1])
            let semaphore = { DispatchSemaphore(value: 0) }
            let (isPolled, mayGoOn, isDone) = (semaphore(), semaphore(), semaphore())
            var hooks = quietHooks
            hooks.onStatistics = { _ in
                isPolled.signal()
                mayGoOn.wait()
                mayGoOn.signal()
            }
            let offsets = try GroupOffsets(
                configuration: broker.client(["group.id": "g", "statistics.interval.ms": "10"]),
                hooks: hooks
            )
            Thread {
                offsets.pause(for: .seconds(60))
                isDone.signal()
            }
            .start()
            isPolled.wait()

            weak let former = offsets.client.withLock(\.self).handle
            broker.fail(next: .offsetFetch, with: [KafkaError.Code(rawValue: 16)])
            #expect(throws: KafkaError.self) {
                try offsets.committed(Self.first, .latest, timeout: .seconds(60))
            }
            #expect(former != nil)
            mayGoOn.signal()
            isDone.wait()
            #expect(former == nil)
        }
    }

    /// A group's reader and a producer that uses it.
    private struct Stand {
        let broker: EmbeddedBroker
        let member: GroupConsumer
        let applied: AppliedOffsets
        let producer: TransactionalProducer
        let out: TransactionalTopic

        init(brokerCount: Int = 1) throws {
            broker = try EmbeddedBroker(brokerCount: brokerCount, logger: quietHooks.logger)
            for (name, count) in ["in": 2, "out": 1] { try broker.createTopic(name, partitionCount: count) }
            broker.setCoordinator(1, ofGroup: "test")
            member = try broker.member(of: ["in"])
            applied = try AppliedOffsets(
                configuration: broker.client(["group.id": "test"]),
                hooks: quietHooks
            )
            producer = try TransactionalProducer(
                configuration: broker.client(["transactional.id": "one", "linger.ms": "0"]),
                hooks: quietHooks,
                appliedOffsets: applied
            )
            out = try producer.topic("out")
            try producer.initTransactions(timeout: .seconds(60))
        }

        func transact(_ offset: Offset, timeout: Duration = .seconds(60)) throws {
            try producer.begin(timeout: .seconds(60))
            try out.produce(partition: 0, key: nil, value: nil, headers: [])
            try finish(offset, timeout: timeout)
        }

        func finish(_ offset: Offset, timeout: Duration = .seconds(60)) throws {
            let membership = try #require(member.membership)
            try producer.sendOffsets(
                [AppliedOffsetsTests.first: offset],
                membership: membership,
                timeout: timeout
            )
            try producer.commit(timeout: .seconds(60))
        }
    }
}
