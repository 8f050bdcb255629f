import BrokerFaults
import Kafka
import TestSupport
import Testing

/// Assignments and revocations are events of the poll.
@Suite(.concurrencyLimited) struct RebalanceTests {
    @Test func partitionsAreReadFromWhereTheOwnerSays() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let producer = try broker.producer()
            for number in 0..<5 { try producer.send(topic: "t", key: nil, value: [UInt8(number)], timeout: .seconds(60)) }
            let member = try broker.member(of: ["t"])
            #expect(member.hasAssignment)
            var values: [UInt8] = []
            func poll() throws {
                guard case .records(let batch) = try member.poll(maxRecords: 10, timeout: .milliseconds(100)) else { return }
                for case .record(let record) in batch { values.append(record.value?.first ?? 0) }
            }
            for _ in 0..<3 { try poll() }
            #expect(values.isEmpty)
            try member.start(at: [TopicPartition(topic: "t", partition: 0): 3])
            let deadline = ContinuousClock.now + .seconds(20)
            while values.count < 2, ContinuousClock.now < deadline { try poll() }
            #expect(values == [3, 4])
            member.close()
        }
    }

    @Test func anAssignmentThatEndsIsRevokedAndMembershipGone() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 2])
            let member = try GroupConsumer(
                of: ["t"],
                configuration: broker.client([
                    "group.id": "test", "session.timeout.ms": "3500", "heartbeat.interval.ms": "200",
                ]),
                hooks: quietHooks
            )
            #expect(try join(member).count == 2)
            // 27: REBALANCE_IN_PROGRESS.
            broker.fail(next: .heartbeat, with: [KafkaError.Code(rawValue: 27)])
            var isRevoked = false
            let deadline = ContinuousClock.now + .seconds(20)
            while !isRevoked, ContinuousClock.now < deadline {
                if case .revoked = try member.poll(maxRecords: 1, timeout: .milliseconds(100)) { isRevoked = true }
            }
            #expect(isRevoked)
            #expect(!member.hasAssignment)
            #expect(try join(member).count == 2)
            #expect(member.hasAssignment)
            member.close()
            member.close()
        }
    }

    @Test func committedOffsetsAreKeptForTheGroup() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 2])
            let partitions = [0, 1].map { TopicPartition(topic: "t", partition: $0) }
            let consumer = try broker.consumer()
            try consumer.assign([partitions[0]: 0, partitions[1]: 0])
            try consumer.commit([partitions[1]: 7])
            let committed = try consumer.committed(partitions, timeout: .seconds(60))
            #expect(committed[partitions[0]] == .some(nil))
            #expect(committed[partitions[1]] == 7)
            // 25: UNKNOWN_MEMBER_ID.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 25)])
            let error = #expect(throws: KafkaError.self) { try consumer.commit([partitions[1]: 8]) }
            #expect(error?.code.rawValue == 25)
            broker.setRoundTrip(.seconds(2))
            let late = #expect(throws: KafkaError.self) { try consumer.commit([partitions[1]: 9], timeout: .milliseconds(10)) }
            #expect(late?.remedy == .retry)
            consumer.close()
        }
    }

    @Test func publishedOffsetsAreCommittedInTheBackground() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let partition = TopicPartition(topic: "t", partition: 0)
            let consumer = try broker.consumer()
            // 16: NOT_COORDINATOR. Nobody hears of it.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 16)])
            consumer.publish([:])
            let deadline = ContinuousClock.now + .seconds(60)
            var committed: Offset?
            while committed != 7, .now < deadline {
                consumer.publish([partition: 7])
                committed = try consumer.committed([partition], timeout: .seconds(60))[partition] ?? nil
            }
            #expect(committed == 7)
            consumer.close()
        }
    }

    /// Without a wait in between, librdkafka would stop partitions twice and end the process.
    @Test func partitionsAreRewoundInQuickSuccession() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 8])
            let producer = try broker.producer()
            for number in 0..<8 { try producer.send(topic: "t", key: [UInt8(number)], value: [1], timeout: .seconds(60)) }
            let start = (0..<8).map { (TopicPartition(topic: "t", partition: $0), Offset(0)) }
            let consumer = try broker.consumer()
            for _ in 0..<50 {
                try consumer.assign(Dictionary(uniqueKeysWithValues: start))
                try consumer.assign(Dictionary(uniqueKeysWithValues: start))
            }
            var count = 0
            try poll(consumer, until: { count == 8 }) { if case .record = $0 { count += 1 } }
            #expect(count == 8)
            consumer.close()
        }
    }
}
