import Foundation
import JuiceEngine

/// The part of librdkafka's statistics that becomes metrics. Its STATISTICS.md documents the fields.
struct KafkaStatistics: Decodable {
    struct Window: Decodable {
        /// In microseconds, as is `p99`, since the previous statistics.
        let p50: Int64
        let p99: Int64
    }

    struct Broker: Decodable {
        let roundTrip: Window
        let sendErrors: Int64
        let receiveErrors: Int64
        let timeouts: Int64
        let disconnects: Int64?

        private enum CodingKeys: String, CodingKey {
            case roundTrip = "rtt"
            case sendErrors = "txerrs"
            case receiveErrors = "rxerrs"
            case timeouts = "req_timeouts"
            case disconnects
        }
    }

    struct Topic: Decodable { let partitions: [String: Partition] }

    struct Partition: Decodable {
        let fetchedRecords: Int64
        let fetchedBytes: Int64
        /// The end of the log; negative if unknown.
        let end: Offset

        private enum CodingKeys: String, CodingKey {
            case fetchedRecords = "fetchq_cnt"
            case fetchedBytes = "fetchq_size"
            case end = "hi_offset"
        }
    }

    private let unsentRecords: Int64
    private let unsentBytes: Int64
    let brokers: [String: Broker]
    let topics: [String: Topic]

    private enum CodingKeys: String, CodingKey {
        case unsentRecords = "msg_cnt"
        case unsentBytes = "msg_size"
        case brokers
        case topics
    }

    /// Parses a document; nil if it is malformed.
    init?(_ json: String) {
        guard let statistics = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = statistics
    }

    /// The end of a partition, records of open transactions included; nil if the client does not know it yet.
    func end(of topic: String, _ partition: Int32) -> Offset? {
        guard let end = topics[topic]?.partitions["\(partition)"]?.end, end >= 0 else { return nil }
        return end
    }

    private var partitions: some Sequence<Partition> { topics.values.lazy.flatMap(\.partitions.values) }

    /// Records to be sent, or fetched and not yet polled.
    var queuedRecords: Int64 { unsentRecords + partitions.reduce(0) { $0 + $1.fetchedRecords } }
    /// The bytes of these records.
    var queuedBytes: Int64 { unsentBytes + partitions.reduce(0) { $0 + $1.fetchedBytes } }
}
