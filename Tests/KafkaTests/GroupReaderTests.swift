import BrokerFaults
import Kafka
import TestSupport
import Testing

/// A member of a group that reads from the committed offsets on and detects the ends of partitions.
@Suite(.concurrencyLimited) struct GroupReaderTests {
    private static let first = TopicPartition(topic: "t", partition: 0)
    private static let second = TopicPartition(topic: "t", partition: 1)

    private func reader(_ broker: EmbeddedBroker) -> GroupReader {
        GroupReader(
            of: ["t"], configuration: broker.client(["group.id": "readers"]),
            watch: BrokerWatch(bootstrapServers: broker.bootstrapServers, logger: quietHooks.logger), hooks: quietHooks)
    }

    /// Polls from the reader's start offsets until `isDone` or 20 seconds are over.
    private func read(_ reader: GroupReader, until isDone: ([UInt8], [TopicPartition: Offset]) throws -> Bool) throws -> (
        starts: [TopicPartition: Offset], values: [UInt8]
    ) {
        var (starts, values, ends) = ([TopicPartition: Offset](), [UInt8](), [TopicPartition: Offset]())
        let deadline = ContinuousClock.now + .seconds(20)
        while try !isDone(values, ends), ContinuousClock.now < deadline {
            switch try reader.poll(maxRecords: 100) {
            case .rebalanced:
                guard let offsets = try reader.startOffsets() else { continue }
                starts = offsets
                try reader.start(at: offsets)
            case .records(let batch, let reached):
                for case .record(let record) in batch { values.append(record.value?.first ?? 0) }
                ends.merge(reached) { _, new in new }
            }
        }
        return (starts, values)
    }

    private func send(_ values: Range<UInt8>, to broker: EmbeddedBroker, partition: Int32 = 0) throws {
        let producer = try broker.producer()
        try producer.send(values.map { OutgoingRecord(topic: "t", partition: partition, key: nil, value: [$0]) })
    }

    @Test func itBeginsWithTheOldestAndGoesOnWhereItCommitted() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 2])
            try send(0..<5, to: broker)
            let reader = reader(broker)
            let all = try read(reader) { values, ends in values.count == 5 && ends == [Self.first: 5, Self.second: 0] }
            #expect(all.starts == [Self.first: 0, Self.second: 0])
            #expect(all.values == [0, 1, 2, 3, 4])
            try reader.commit([Self.first: 3])
            reader.close()

            // After a close, a poll joins the group again.
            let rest = try read(reader) { values, _ in values.count == 2 }
            #expect(rest.starts == [Self.first: 3, Self.second: 0])
            #expect(rest.values == [3, 4])
            reader.close()
        }
    }

    @Test func anOffsetThatIsNotInTheLogIsNotReadFrom() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            try send(0..<2, to: broker)
            let reader = reader(broker)
            _ = try read(reader) { values, _ in values.count == 2 }
            try reader.commit([Self.first: 1000])
            reader.close()
            #expect(try read(reader) { values, _ in values.count == 2 }.starts == [Self.first: 0])
            reader.close()
        }
    }

    @Test func theEndIsKnownAgainAfterMoreCame() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            try send(0..<1, to: broker)
            let reader = reader(broker)
            _ = try read(reader) { _, ends in ends == [Self.first: 1] }
            try send(1..<3, to: broker)
            let more = try read(reader) { _, ends in ends == [Self.first: 3] }
            #expect(more.values == [1, 2])
            reader.close()
        }
    }

    @Test func aRightThatIsMissingEndsTheMembership() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            let reader = reader(broker)
            let error = #expect(throws: KafkaError.self) { _ = try read(reader) { _, _ in false } }
            #expect(error?.code == .groupAuthorizationFailed)
        }
    }
}

/// Sending many records at once.
@Suite(.concurrencyLimited) struct SendManyTests {
    @Test func allAreConfirmedAlsoWhenTheQueueIsSmall() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let producer = try broker.producer(["queue.buffering.max.messages": "10"])
            let records = (0..<100).map {
                OutgoingRecord(topic: "t", partition: 0, key: nil, value: [UInt8($0)], timestamp: 1000 + $0)
            }
            try producer.send(records)
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            var values: [UInt8] = []
            try poll(consumer, until: { values.count == 100 }) {
                if case .record(let record) = $0 { values.append(record.value?.first ?? 0) }
            }
            #expect(values == (0..<100).map(UInt8.init))
            consumer.close()
        }
    }

    @Test func theFirstFailureIsThrown() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let producer = try broker.producer(["message.max.bytes": "2000"])
            let error = #expect(throws: KafkaError.self) {
                try producer.send([
                    OutgoingRecord(topic: "t", key: nil, value: [1]),
                    OutgoingRecord(topic: "t", key: nil, value: Array(repeating: 0, count: 4000)),
                ])
            }
            #expect(error?.code == .messageTooLarge)
        }
    }
}
