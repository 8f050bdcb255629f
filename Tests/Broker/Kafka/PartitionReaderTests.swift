import FaultyNetwork
import TestSupport
import Testing

@testable import Kafka

/// The one loop over a consumer that belongs to no group.
@Suite(.concurrencyLimited) struct PartitionReaderTests {
    private static let others = TopicPartition(topic: place.topic, partition: 1)

    /// A broker whose topic has records at offsets 0, 2 and 3 of the first partition, a damaged one at 1, and two in the second.
    private func withDamage(_ test: @escaping @Sendable (EmbeddedBroker) throws -> Void) async throws {
        try await withBroker(partitions: 2) { broker throws in
            for (value, damage) in [("a", nil), ("b", .bit), ("c", nil), ("d", nil)] as [(String, EmbeddedBroker.Damage?)] {
                try broker.append(value, damaged: damage, to: place)
            }
            for value in ["x", "y"] { try broker.append(value, damaged: nil, to: Self.others) }
            try test(broker)
        }
    }

    private func consumer(of broker: EmbeddedBroker) throws -> Consumer {
        try broker.consumer(["auto.offset.reset": "error", "check.crcs": "true", "enable.partition.eof": "true"])
    }

    /// What a reader returns of each partition until its ranges are read.
    private func readAll(_ reader: PartitionReader) throws -> [TopicPartition: [String]] {
        var values: [TopicPartition: [String]] = [:]
        while let records = try reader.next(until: .now + minute) {
            for (partition, indices) in records.runs {
                values[partition, default: []] += records[indices].map { $0.value?.text ?? "" }
            }
        }
        return values
    }

    @Test func rangesAreReadAndNothingElse() async throws {
        try await withBroker(partitions: 2) { broker throws in
            for value in ["a", "b", "c", "d"] { try broker.append(value, damaged: nil, to: place) }
            for value in ["x", "y"] { try broker.append(value, damaged: nil, to: Self.others) }
            let reader = PartitionReader(try consumer(of: broker))
            try reader.start([place: 1..<3, Self.others: 0..<2])
            #expect(try readAll(reader) == [place: ["b", "c"], Self.others: ["x", "y"]])
            try reader.start([place: 2..<2])
            #expect(try readAll(reader).isEmpty)
            // The end of the range is not there yet.
            try reader.start([Self.others: 1..<3])
            #expect(try reader.next(until: .now + minute)?.count == 1)
            #expect(#expect(throws: KafkaError.self) { try reader.next(until: .now) }?.remedy == .retry)
            try broker.append("z", damaged: nil, to: Self.others)
            #expect(try readAll(reader) == [Self.others: ["z"]])
            reader.consumer.close()
        }
    }

    @Test func partitionsAreFollowed() async throws {
        try await withBroker { broker throws in
            try broker.append("a", damaged: nil, to: place)
            let reader = PartitionReader(try consumer(of: broker))
            try reader.start(at: [place: 0])
            var values: [String] = []
            func follow(until isDone: () -> Bool) throws {
                try repeating(until: isDone) { values += try reader.poll(timeout: .milliseconds(50)).map { $0.value?.text ?? "" } }
            }
            #expect(!reader.hasReached([place: 1]))
            try follow { reader.hasReached([place: 1]) }
            try broker.append("b", damaged: nil, to: place)
            try follow { reader.positions == [place: 2] }
            #expect(values == ["a", "b"])
            reader.leave(place)
            #expect(reader.positions.isEmpty)
            reader.consumer.close()
        }
    }

    @Test func partitionsThatCannotBeReadAreLeftOrFail() async throws {
        try await withDamage { broker throws in
            let reader = PartitionReader(try consumer(of: broker))
            try reader.start([place: 0..<4])
            let failure = #expect(throws: KafkaError.self) { try readAll(reader) }
            #expect(failure?.offset == 1)

            let leaving = PartitionReader(reader.consumer, gaps: .leave)
            try leaving.start([place: 0..<4, Self.others: 0..<2])
            #expect(try readAll(leaving) == [place: ["a"], Self.others: ["x", "y"]])
            #expect(leaving.gaps.map(\.partition) == [place])
            #expect(leaving.gaps.first?.offsets == 1..<1)
            #expect(!leaving.reads(place))
            reader.consumer.close()
        }
    }

    @Test func gapsArePassed() async throws {
        try await withDamage { broker throws in
            let reader = PartitionReader(try consumer(of: broker), gaps: .pass)
            try reader.start([place: 0..<4, Self.others: 0..<2])
            #expect(try readAll(reader) == [place: ["a", "c", "d"], Self.others: ["x", "y"]])
            #expect(reader.gaps.map(\.offsets) == [1..<2])
            #expect(reader.gaps.first?.error.code.isDamage == true)
            // Beyond the end of the log, reading resumes at its beginning, as after a topic was recreated.
            reader.gaps = []
            try reader.start(at: [Self.others: 100])
            var values: [String] = []
            try repeating(until: { values.count == 2 }) {
                values += try reader.poll(timeout: .milliseconds(50)).map { $0.value?.text ?? "" }
            }
            #expect(values == ["x", "y"])
            #expect(reader.gaps.isEmpty)
            reader.consumer.close()
        }
    }

    @Test func onlySomeRecordsAreWanted() async throws {
        try await withDamage { broker throws in
            let consumer = try consumer(of: broker)
            var offsets: [TopicPartition: [Offset]] = [:]
            let gaps = try consumer.read([place: 2..<4, Self.others: 0..<2], timeout: minute) { partition, record in
                offsets[partition, default: []].append(record.offset)
                return partition == place
            }
            #expect(offsets == [place: [2, 3], Self.others: [0]])
            #expect(gaps.isEmpty)
            consumer.close()
        }
    }
}
