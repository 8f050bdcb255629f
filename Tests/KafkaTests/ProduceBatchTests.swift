import Kafka
import TestSupport
import Testing

/// Records that a transactional producer hands to librdkafka in batches.
@Suite(.concurrencyLimited) struct ProduceBatchTests {
    private struct Written: Equatable {
        let partition: Int32
        let key: String?
        let value: String?
        let headers: [RecordHeader]
        /// Compared only for records with headers, since others get the time at which they are written.
        var timestamp: Int64?
    }

    /// More than one batch, with changes of partition. Records with headers and large ones take another way than the others,
    /// and must not overtake them.
    private static let records: [Written] = (0..<2_000).map { number in
        Written(
            partition: Int32(number / 7 % 3), key: number % 5 == 0 ? nil : "key-\(number)", value: value(number),
            headers: number % 97 == 0 ? [RecordHeader(name: "number", value: "\(number)")] : [],
            timestamp: number % 97 == 0 ? 1_700_000_000_000 + Int64(number) : nil)
    }

    private static func value(_ number: Int) -> String? {
        if number % 11 == 0 { return nil }
        let padding = number % 301 == 0 ? String(repeating: "x", count: 200_000) : ""
        return padding + "\(number)"
    }

    @Test func everyRecordIsWrittenOnceAndInOrder() async throws {
        try await withBroker(topics: ["out": 3]) { broker in
            let session = try broker.readySession()
            try session.begin()
            for record in Self.records { try produce(record, in: session) }
            try session.commit(timeout: .seconds(60))

            let written = try read(from: broker, count: Self.records.count)
            for partition in Int32(0)..<3 {
                #expect(written.filter { $0.partition == partition } == Self.records.filter { $0.partition == partition })
            }
        }
    }

    /// The queue holds 100 of the 2,000 records; the others wait until those are delivered.
    @Test func aFullQueueIsWaitedFor() async throws {
        try await withBroker(topics: ["out": 3]) { broker in
            let session = try broker.readySession(["queue.buffering.max.messages": "100"])
            try session.begin()
            let records = Self.records.filter { $0.value?.count ?? 0 < 100 }
            for record in records { try produce(record, in: session) }
            try session.commit(timeout: .seconds(60))
            let written = try read(from: broker, count: records.count)
            #expect(written.count == records.count)
            #expect(written.filter { $0.partition == 1 } == records.filter { $0.partition == 1 })
        }
    }

    /// Records that an abandoned transaction had not handed over are not part of the next one.
    @Test func givingUpForgetsWhatIsNotHandedOver() async throws {
        try await withBroker(topics: ["out": 3]) { broker in
            let session = try broker.readySession()
            try session.begin()
            for record in Self.records.prefix(50) { try produce(record, in: session) }
            session.drop()
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            // The embedded broker shows records of abandoned transactions, too. A forgotten one would be in the same partition
            // just before this one.
            let forgotten = Self.records[49]
            let last = Written(partition: forgotten.partition, key: "last", value: "last", headers: [])
            try produce(last, in: session)
            try session.commit(timeout: .seconds(60))
            let written = try read(from: broker) { $0.contains(last) }
            #expect(written.contains(last))
            #expect(!written.contains(forgotten))
        }
    }

    /// A transaction that lacks a record must not be committed.
    @Test func aRefusedRecordFailsTheTransaction() async throws {
        try await withBroker(topics: ["out": 3]) { broker in
            let session = try broker.readySession(["message.max.bytes": "2000"])
            try session.begin()
            let small = Written(partition: 0, key: nil, value: "small", headers: [])
            let large = Written(partition: 0, key: nil, value: String(repeating: "x", count: 5_000), headers: [])
            for record in [small, large, small] { try produce(record, in: session) }
            let error = #expect(throws: KafkaError.self) { try session.commit(timeout: .seconds(60)) }
            #expect(error?.remedy == .startOver)
        }
    }

    private func produce(_ record: Written, in session: TransactionSession) throws {
        try session.produce(
            record.value, key: record.key, partition: record.partition, headers: record.headers, timestamp: record.timestamp)
    }

    private func read(from broker: EmbeddedBroker, count: Int) throws -> [Written] {
        try read(from: broker) { $0.count >= count }
    }

    private func read(from broker: EmbeddedBroker, until isComplete: ([Written]) -> Bool) throws -> [Written] {
        let reader = try broker.consumer(["fetch.message.max.bytes": "10000000"])
        defer { reader.close() }
        let partitions = (Int32(0)..<3).map { TopicPartition(topic: "out", partition: $0) }
        try reader.assign(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
        var written: [Written] = []
        try poll(reader, until: { isComplete(written) }) { element in
            guard case .record(let record) = element else { return }
            written.append(
                Written(
                    partition: record.partition, key: record.key?.text, value: record.value?.text, headers: record.headers,
                    timestamp: record.headers.isEmpty ? nil : record.timestamp))
        }
        return written
    }
}
