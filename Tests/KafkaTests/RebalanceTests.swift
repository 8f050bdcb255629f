import Kafka
import Testing

/// A group's partitions come and go through the hook.
@Suite struct RebalanceTests {
    @Test func heldPartitionsAreReadFromWhereTheOwnerSays() async throws {
        try await onOwnThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let producer = try broker.producer()
            for number in 0..<5 {
                try producer.send(topic: "t", key: nil, value: [UInt8(number)], timeout: .seconds(10))
            }
            let consumer = try broker.consumer()
            var assigned: [TopicPartition] = []
            try consumer.subscribe(to: ["t"]) { rebalance in
                if case .assigned(let partitions, _) = rebalance { assigned = partitions }
                return .hold
            }
            var values: [UInt8] = []
            func note(_ element: RecordBatch.Element) {
                if case .record(let record) = element { values.append(record.value?.first ?? 0) }
            }
            try poll(consumer, until: { !assigned.isEmpty }, note)
            for _ in 0..<3 { try consumer.poll(maxRecords: 10, timeout: .milliseconds(100)).forEach(note) }
            #expect(values.isEmpty)
            try consumer.assign(Dictionary(uniqueKeysWithValues: assigned.map { ($0, 3) }))
            try poll(consumer, until: { values.count == 2 }, note)
            #expect(values == [3, 4])
            consumer.close()
        }
    }

    @Test func partitionsAreGivenUpBeforeTheConsumerIsClosed() async throws {
        try await onOwnThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 2])
            let consumer = try broker.consumer()
            var events: [String] = []
            try consumer.subscribe(to: ["t"]) { rebalance in
                switch rebalance {
                case .assigned(let partitions, let membership):
                    events.append("assigned \(partitions.count) \(membership != nil)")
                case .revoked(let partitions, let isLost):
                    events.append("revoked \(partitions.count) \(isLost)")
                case .failed(let error): events.append("failed \(error)")
                }
                return .fromCommitted
            }
            try poll(consumer, until: { !events.isEmpty }) { _ in }
            consumer.close()
            consumer.close()
            #expect(events == ["assigned 2 true", "revoked 2 false"])
        }
    }

    @Test func committedOffsetsAreKeptForTheGroup() async throws {
        try await onOwnThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 2])
            let partitions = [0, 1].map { TopicPartition(topic: "t", partition: $0) }
            let consumer = try broker.consumer()
            try consumer.assign([partitions[0]: 0, partitions[1]: 0])
            try consumer.commit([partitions[1]: 7])
            let committed = try consumer.committed(partitions, timeout: .seconds(10))
            #expect(committed[partitions[0]] == .some(nil))
            #expect(committed[partitions[1]] == 7)
            consumer.close()
        }
    }

    /// Without a wait in between, librdkafka would stop partitions twice and end the process.
    @Test func partitionsAreRewoundInQuickSuccession() async throws {
        try await onOwnThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 8])
            let producer = try broker.producer()
            for number in 0..<8 {
                try producer.send(topic: "t", key: [UInt8(number)], value: [1], timeout: .seconds(10))
            }
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
