import Foundation
import JuiceEngine

/// What is used of librdkafka's statistics, under its names: see STATISTICS.md there.
struct KafkaStatistics: Decodable {
    struct Window: Decodable {
        /// Both in microseconds, since the statistics before.
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

    struct Topic: Decodable {
        let partitions: [String: Partition]
    }

    struct Partition: Decodable {
        let fetchedRecords: Int64
        let fetchedBytes: Int64
        /// Its end; negative where that is not known.
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

    /// - Parameter json: the document; nil comes of one that is not as it should be.
    init?(_ json: String) {
        guard let statistics = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = statistics
    }

    /// Where a partition ends, records of open transactions included; nil where the client has not asked yet.
    func end(of topic: String, _ partition: Int32) -> Offset? {
        guard let end = topics[topic]?.partitions["\(partition)"]?.end, end >= 0 else { return nil }
        return end
    }

    private var partitions: some Sequence<Partition> { topics.values.lazy.flatMap(\.partitions.values) }

    /// Records to be sent, or fetched and not yet taken.
    var queuedRecords: Int64 { unsentRecords + partitions.reduce(0) { $0 + $1.fetchedRecords } }
    /// Their bytes.
    var queuedBytes: Int64 { unsentBytes + partitions.reduce(0) { $0 + $1.fetchedBytes } }
}
