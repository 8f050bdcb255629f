import TestSupport
import Testing

@testable import Kafka

/// The headers of received records. Whether a record has any is read from the byte after its value.
@Suite(.concurrencyLimited) struct HeaderTests {
    private struct Written: Equatable {
        let value: [UInt8]?
        let headers: [RecordHeader]
    }

    /// Values of many sizes, so that some end at the end of a page, with and without headers after them.
    private static let records: [Written] = (0..<1_500).map { number in
        Written(value: value(number), headers: headers[number % headers.count])
    }

    private static let headers: [[RecordHeader]] = [
        [],
        [RecordHeader(name: "a", value: "1")],
        [],
        [
            RecordHeader(name: "", value: nil), RecordHeader(name: "b", value: []),
            RecordHeader(name: "b", value: "2"),
        ],
    ]

    private static func value(_ number: Int) -> [UInt8]? {
        switch number % 50 {
        case 0, 1: nil
        case 2, 3: []
        default: Array(repeating: UInt8(number % 3), count: number < 700 ? number : number % 5)
        }
    }

    @Test(arguments: ["none", "gzip", "lz4"])
    func headersAreFoundAfterValuesOfAnySize(compression: String) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["out": 1])
            let session = broker.session(["compression.type": compression])
            try session.initTransactions(timeout: .seconds(60))
            try session.begin()
            for record in Self.records {
                try (record.value ?? []).withUnsafeBytes { value in
                    try session.produce(
                        to: 0, partition: 0, key: nil, value: record.value == nil ? nil : value, headers: record.headers)
                }
            }
            try session.commit(timeout: .seconds(60))

            let reader = try broker.consumer()
            defer { reader.close() }
            try reader.assign([TopicPartition(topic: "out", partition: 0): 0])
            var read: [Written] = []
            var asked = 0
            try poll(reader, until: { read.count >= Self.records.count }) { element in
                guard case .record(let record) = element else { return }
                read.append(Written(value: record.value.map(Array.init), headers: record.headers))
                if ConsumedRecord.mayHaveHeaders(after: record.value) { asked += 1 }
            }
            #expect(read.count == Self.records.count)
            // Not all of them at once: a failure would print more than anybody reads.
            for (read, written) in zip(read, Self.records) where read != written { #expect(read == written) }
            // librdkafka is asked for the others only if there is no value, or if it ends with its page.
            let certain = Self.records.count { !$0.headers.isEmpty || $0.value?.isEmpty ?? true }
            #expect((certain...certain + 20).contains(asked))
        }
    }
}
