import FaultyNetwork
import TestSupport
import Testing

@testable import Kafka

/// Assignments and revocations are events of the poll.
@Suite(.concurrencyLimited) struct RebalanceTests {
    @Test func readsFromTheAssignedOffsets() async throws {
        try await withBroker { broker throws in
            let producer = try broker.producer()
            for number in 0..<5 { #expect(try producer.send("\(number)").offset == Int64(number)) }
            let member = try broker.member()
            #expect(member.hasAssignment)
            var values: [String] = []
            func poll() throws {
                let batch = try member.poll(maxRecords: 10, timeout: .milliseconds(100))
                for case .record(let record) in batch { values.append(record.value?.text ?? "") }
            }
            for _ in 0..<3 { try poll() }
            #expect(values.isEmpty)
            try member.assign([place: 3])
            try repeating(until: { values.count >= 2 }, poll)
            #expect(values == ["3", "4"])
            member.close()
        }
    }

    @Test func rejoinsAfterARevokedAssignment() async throws {
        try await withBroker(partitions: 2) { broker throws in
            let member = try broker.member(["session.timeout.ms": "3500", "heartbeat.interval.ms": "200"])
            // 27: REBALANCE_IN_PROGRESS.
            broker.fail(next: .heartbeat, with: [KafkaError.Code(rawValue: 27)])
            try repeating(until: {
                if case .revoked = try member.poll(maxRecords: 1, timeout: .milliseconds(100)).rebalance { true } else { false }
            })
            #expect(!member.hasAssignment)
            #expect(try join(member).count == 2)
            #expect(member.hasAssignment)
            member.close()
            member.close()
        }
    }

    @Test func committedOffsetsAreKeptForTheGroup() async throws {
        try await withBroker(partitions: 2) { broker throws in
            let other = TopicPartition(topic: "t", partition: 1)
            let consumer = try broker.consumer()
            try consumer.assign([place: 0, other: 0])
            try consumer.commit([other: .init(7, metadata: "seven")])
            let committed = try consumer.committed([place, other], timeout: minute)
            #expect(committed == [other: .init(7, metadata: "seven")])
            // 25: UNKNOWN_MEMBER_ID.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 25)])
            let error = #expect(throws: KafkaError.self) { try consumer.commit([other: .init(8)]) }
            #expect(error?.code.rawValue == 25)
            broker.setRoundTrip(.seconds(2))
            let late = #expect(throws: KafkaError.self) { try consumer.commit([other: .init(9)], timeout: .milliseconds(10)) }
            #expect(late?.remedy == .retry)
            consumer.close()
        }
    }

    @Test func publishedOffsetsAreCommittedInTheBackground() async throws {
        try await withBroker { broker throws in
            let consumer = try broker.consumer()
            // 16: NOT_COORDINATOR, which is ignored.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 16)])
            consumer.publish([:])
            try repeating(until: { try consumer.committed([place], timeout: minute) == [place: .init(7)] }) {
                consumer.publish([place: .init(7)])
            }
            consumer.close()
        }
    }

    /// See ``Consumer/assign(_:)``: the next assignment waits for the end of this one.
    @Test func anAssignmentIsWaitedFor() async throws {
        try await withBroker(partitions: 8) { broker throws in
            let recorder = LogRecorder()
            let consumer = try broker.consumer(["debug": "cgrp"], logger: recorder.makeLogger(level: .debug))
            try consumer.assign(Dictionary(uniqueKeysWithValues: (0..<8).map { (TopicPartition(topic: "t", partition: $0), 0) }))
            let operations = recorder.all.compactMap { line in
                line.firstMatch(of: /received op (ASSIGN|GET_ASSIGNMENT)\b/).map { String($0.1) }
            }
            #expect(operations == ["ASSIGN", "GET_ASSIGNMENT", "GET_ASSIGNMENT"])
            consumer.close()
        }
    }
}

/// Records whose bytes have changed in the log are never taken for data, and nothing after them is read by accident.
@Suite(.concurrencyLimited) struct DamageTests {
    /// What librdkafka does after the error depends on the batch's size: it rereads the batch for ever, or goes on at an offset
    /// that it takes from the damaged bytes.
    @Test(
        arguments: [(EmbeddedBroker.Damage.bit, KafkaError.Code.badMessage), (.compression, .badCompression)], [10, 5_000])
    func damageIsReportedBeforeAnythingElse(_ damage: (kind: EmbeddedBroker.Damage, code: KafkaError.Code), size: Int) async throws
    {
        try await withBroker { broker throws in
            try broker.append("before", damaged: nil, to: place)
            try broker.append(String(repeating: "x", count: size), damaged: damage.kind, to: place)
            try broker.append("after", damaged: nil, to: place)
            let consumer = try broker.consumer(["auto.offset.reset": "error", "check.crcs": "true"])
            try consumer.assign([place: 0])
            var failure: KafkaError?
            var values: [String] = []
            try poll(consumer, until: { failure != nil }) { element in
                switch element {
                case .record(let record) where failure == nil: values.append(record.value?.text ?? "")
                case .failure(place, let error): failure = failure ?? error
                default: break
                }
            }
            #expect(values == ["before"])
            #expect(failure?.code == damage.code)
            #expect(failure?.code.isDamage == true)
            #expect(failure?.offset == 1)

            // The owner may go on after the damaged batch. A fetch at an offset from the damaged bytes may still be on its way: its
            // error is one for which owners start again.
            var mustStart = true
            try repeating(until: { values.count > 1 }) {
                if exchange(&mustStart, with: false) { try consumer.assign([place: 2]) }
                for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) {
                    switch element {
                    case .record(let record): values.append(record.value?.text ?? "")
                    case .failure: mustStart = true
                    default: break
                    }
                }
            }
            #expect(values == ["before", "after"])
            consumer.close()
        }
    }

    /// The last offset of the damage that begins at offset 1, in a log of batches of these sizes, some of which are damaged.
    @Test(
        arguments: [
            ([1, 1, 1], [1], 1), ([1, 3, 1], [1], 3), ([1, 300, 5], [1], 300), ([1, 300, 7], [1, 2], 307),
            ([1, 2, 1, 2], [1, 3], 2),
            ([1, 1, 1, 1, 1], [1, 2, 4], 2), ([1, 40], [1], 40),
        ] as [([Offset], Set<Int>, Offset)])
    func damageIsMeasured(sizes: [Offset], damaged: Set<Int>, last: Offset) {
        let starts = sizes.indices.map { sizes[..<$0].reduce(0, +) }
        func batch(at offset: Offset) -> Int? {
            sizes.indices.first { (starts[$0]..<starts[$0] + sizes[$0]).contains(offset) }
        }
        #expect(
            Consumer.lastDamaged(from: 1) { offset in batch(at: offset).flatMap { damaged.contains($0) ? starts[$0] : nil } }
                == last)
    }
}

/// Leaders that moved are found where librdkafka would find them too late.
@Suite(.concurrencyLimited) struct LeaderRefreshTests {
    @Test(
        .enabled(if: !KafkaConfiguration.noticesMovedLeaders, "this librdkafka is refused by a former leader, and asks by itself"))
    func aLeaderThatMovedIsFoundWithoutAnError() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(brokerCount: 2)
            broker.setLeader(1, of: place)
            let consumer = try broker.consumer()
            try consumer.assign([place: 0])
            let producer = try broker.producer()
            func isRead(_ text: String) throws -> Bool {
                try producer.send(text)
                var isRead = false
                try poll(consumer, until: { isRead }) { element in
                    if case .record(let record) = element { isRead = record.value?.text == text }
                }
                return isRead
            }
            #expect(try isRead("before"))

            // What a broker answers that is shutting down: nothing new, and no hint. At two a second, these outlast the test.
            broker.fail(next: .fetch, with: Array(repeating: KafkaError.Code(rawValue: 78), count: 1000))
            broker.setLeader(2, of: place)
            #expect(try isRead("after"))
            #expect(broker.pendingFailures(of: .fetch) > 900)
            consumer.close()
        }
    }
}
