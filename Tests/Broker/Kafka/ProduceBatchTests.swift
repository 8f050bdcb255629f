import CRdKafka
import TestSupport
import Testing

@testable import Kafka

/// Records that a transactional producer hands to librdkafka in batches, and what a consumer reads of them.
@Suite(.concurrencyLimited) struct ProduceBatchTests {
    private struct Written: Equatable {
        var partition: Int32 = 0
        var key: String?
        var value: [UInt8]?
        var headers: [RecordHeader] = []
        /// Compared only for records with headers, since others get the time at which they are written.
        var timestamp: Int64?
    }

    /// Several batches, with changes of partition. Records with headers and large records take another path than the rest, and must
    /// not overtake them. Values have many sizes, so some end at a page boundary: the byte after a value shows whether its record
    /// has headers.
    private static let records: [Written] = (0..<2_500).map { number in
        let headers = number < 1_000 ? headers[number % headers.count] : number % 97 == 0 ? headers[1] : []
        return Written(
            partition: Int32(number / 7 % 3), key: key(number), value: value(number), headers: headers,
            timestamp: headers.isEmpty ? nil : 1_700_000_000_000 + Int64(number))
    }

    private static let headers: [[RecordHeader]] = [
        [], [RecordHeader(name: "a", value: "1")], [],
        [RecordHeader(name: "", value: nil), RecordHeader(name: "b", value: []), RecordHeader(name: "b", value: "2")],
    ]

    /// Kafka's null differs from empty.
    private static func key(_ number: Int) -> String? {
        switch number % 5 {
        case 0: nil
        case 1: ""
        default: "key-\(number)"
        }
    }

    private static func value(_ number: Int) -> [UInt8]? {
        switch number % 50 {
        case 0, 1: nil
        case 2, 3: []
        default: Array(repeating: UInt8(number % 251), count: number % 301 == 4 ? 200_000 : number < 700 ? number : number % 5)
        }
    }

    @Test(arguments: ["none", "gzip", "lz4"])
    func everyRecordIsReadAsItWasWrittenAndInOrder(compression: String) async throws {
        try await withBroker(partitions: 3) { broker throws in
            let session = try broker.readySession(["compression.type": compression])
            try write(Self.records, in: session)
            var asked = 0
            let read = try read(from: broker, until: { $0.count >= Self.records.count }) {
                if ConsumedRecord.mayHaveHeaders(after: $0.value) { asked += 1 }
            }
            #expect(read.count == Self.records.count)
            for partition in Int32(0)..<3 {
                let pairs = zip(read.filter { $0.partition == partition }, Self.records.filter { $0.partition == partition })
                // One by one: a failure of all at once would print too much to read.
                for (read, written) in pairs where read != written { #expect(read.key == written.key) }
                #expect(pairs.allSatisfy { $0 == $1 })
            }
            // For records without headers, librdkafka is asked only if there is no value, or if it ends at a page boundary.
            let certain = Self.records.count { !$0.headers.isEmpty || $0.value?.isEmpty ?? true }
            #expect((certain...certain + 20).contains(asked))
        }
    }

    /// The queue holds 100 of the records; the others wait until those are delivered.
    @Test func aFullQueueIsWaitedFor() async throws {
        try await withBroker(partitions: 3) { broker throws in
            let records = Self.records.filter { $0.value?.count ?? 0 < 100 }
            try write(records, in: try broker.readySession(["queue.buffering.max.messages": "100"]))
            let read = try read(from: broker) { $0.count >= records.count }
            #expect(read.count == records.count)
            #expect(read.filter { $0.partition == 1 } == records.filter { $0.partition == 1 })
        }
    }

    /// Records that an abandoned transaction had not handed over are not part of the next one.
    @Test func droppingASessionForgetsUnsentRecords() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession()
            try session.write("forgotten")
            session.drop()
            #expect(!session.isReady)
            #expect(throws: KafkaError.self) { try session.commit(timeout: minute) }
            try session.initTransactions(timeout: minute)
            try session.transact("last")
            // The embedded broker shows records of abandoned transactions, too.
            #expect(try broker.values(1) == ["last"])
        }
    }

    /// A transaction that lacks a record must not be committed.
    @Test func aRefusedRecordFailsTheTransaction() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession(["message.max.bytes": "2000"])
            let error = #expect(throws: KafkaError.self) {
                try write([100, 5_000, 100].map { Written(value: Array(repeating: 0, count: $0)) }, in: session)
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.remedy == .startOver)
            #expect(error?.place == TopicPartition(topic: "t", partition: 0))
        }
    }

    // MARK: - Copied headers

    /// librdkafka's calls return names cut off at NUL, and a name may be invalid UTF-8.
    @Test func copiedHeadersKeepTheirBytes() async throws {
        let name: [UInt8] = [UInt8(ascii: "a"), 0, 0xFF, UInt8(ascii: "b")]
        try await withBroker { broker throws in
            let session = try broker.readySession()
            let list = rd_kafka_headers_new(2)
            defer { rd_kafka_headers_destroy(list) }
            name.withUnsafeBytes { bytes in
                let name = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                rd_kafka_header_add(list, name, bytes.count, name, 1)
                rd_kafka_header_add(list, name, bytes.count, nil, 0)
            }
            var copy = HeaderList(copying: list)
            var texts: [[String]] = []
            for round in 0..<3 {
                try session.begin()
                let own = RecordHeader(name: "own", value: "\(round)")
                try session.produce(to: 0, partition: 0, key: nil, value: nil, headers: [own], copying: copy)
                try session.commit(timeout: minute)
                try read(last: round, of: broker) { record in
                    copy = round == 1 ? record.headerList?.removing(["own"]) : record.headerList
                    texts.append(record.headers.map(\.name))
                }
            }
            #expect(texts == [["a", "a", "own"], ["a", "a", "own", "own"], ["a", "a", "own"]])
            for index in 0..<2 {
                var (found, value, size) = (UnsafePointer<CChar>?.none, UnsafeRawPointer?.none, 0)
                rd_kafka_header_get_all(copy?.pointer, index, &found, &value, &size)
                #expect(found.map { Array(UnsafeRawBufferPointer(start: $0, count: name.count)) } == name)
                #expect((value == nil) == (index == 1) && size == 1 - index)
            }
        }
    }

    @Test func distinguishesUnreadableHeadersFromNone() async throws {
        try await withBroker { broker throws in
            let session = try broker.readySession()
            for (round, count) in [100_000, 100_001].enumerated() {
                try session.begin()
                let headers = Array(repeating: RecordHeader(name: "h", value: nil), count: count)
                try session.produce(to: 0, partition: 0, key: nil, value: nil, headers: headers)
                try session.commit(timeout: minute)
                try read(last: round, of: broker) { record in
                    #expect(record.readableHeaders?.count == (round == 0 ? count : nil))
                    #expect(record.headers.count == (round == 0 ? count : 0))
                    #expect((record.headerList == nil) == (round == 1))
                }
            }
        }
    }

    /// Reads the record at an offset, which is the partition's last.
    private func read(last offset: Int, of broker: EmbeddedBroker, _ body: (ConsumedRecord) -> Void) throws {
        let reader = try broker.consumer(["fetch.message.max.bytes": "10000000"])
        defer { reader.close() }
        try reader.assign([TopicPartition(topic: "t", partition: 0): 0])
        var (count, isDone) = (0, false)
        try poll(reader, until: { isDone }) { element in
            guard case .record(let record) = element else { return }
            if count == offset { body(record) }
            (count, isDone) = (count + 1, count == offset)
        }
    }

    private func write(_ records: [Written], in session: TransactionSession) throws(KafkaError) {
        try session.begin()
        for record in records {
            try session.produce(
                record.value, key: record.key, partition: record.partition, headers: record.headers, timestamp: record.timestamp)
        }
        try session.commit(timeout: minute)
    }

    private func read(
        from broker: EmbeddedBroker, until isComplete: ([Written]) -> Bool, _ body: (ConsumedRecord) -> Void = { _ in }
    ) throws -> [Written] {
        let reader = try broker.consumer(["fetch.message.max.bytes": "10000000"])
        defer { reader.close() }
        try reader.assign(Dictionary(uniqueKeysWithValues: (0..<3).map { (TopicPartition(topic: "t", partition: $0), 0) }))
        var written: [Written] = []
        try poll(reader, until: { isComplete(written) }) { element in
            guard case .record(let record) = element else { return }
            body(record)
            written.append(
                Written(
                    partition: record.partition, key: record.key?.text, value: record.value.map { Array($0) },
                    headers: record.headers,
                    timestamp: record.headers.isEmpty ? nil : record.timestamp))
        }
        return written
    }
}
