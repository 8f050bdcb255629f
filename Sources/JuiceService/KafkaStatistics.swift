import Foundation
import Kafka
import Metrics
import Synchronization

/// The metrics of one client, from librdkafka's statistics.
final class KafkaClientMetrics: Sendable {
    private let gauges: [(gauge: Gauge, value: KeyPath<KafkaStatistics, Double> & Sendable)]
    private let counters: [(counter: Counter, count: KeyPath<KafkaStatistics.Broker, Int64> & Sendable)]
    /// What each broker's counters were last. A broker that has left the cluster keeps its entry.
    private let last = Mutex<[String: KafkaStatistics.Broker]>([:])

    init(_ client: [(String, String)], _ factory: any MetricsFactory) {
        gauges = [
            (factory.gauge(.kafkaRoundTripMedian, client), \.roundTripMedian),
            (factory.gauge(.kafkaRoundTripTail, client), \.roundTripTail),
            (factory.gauge(.kafkaQueuedRecords, client), \.queuedRecords),
            (factory.gauge(.kafkaQueuedBytes, client), \.queuedBytes),
        ]
        counters = [
            (factory.counter(.kafkaRequestErrors, client), \.requestErrors),
            (factory.counter(.kafkaRequestTimeouts, client), \.timeouts),
            (factory.counter(.kafkaDisconnects, client), \.disconnects),
        ]
    }

    func record(_ statistics: KafkaStatistics) {
        for (gauge, value) in gauges { gauge.record(statistics[keyPath: value]) }
        last.withLock { last in
            for (name, broker) in statistics.brokers {
                let before = last.updateValue(broker, forKey: name)
                for (counter, count) in counters {
                    // librdkafka counts from 0 again in a new client and, from 2.10 on, for a broker that comes back.
                    let (now, old) = (broker[keyPath: count], before?[keyPath: count] ?? 0)
                    counter.increment(by: now >= old ? now - old : now)
                }
            }
        }
    }
}

/// The part of librdkafka's statistics that becomes metrics. Its STATISTICS.md documents the fields.
struct KafkaStatistics: Decodable {
    /// Times since the previous statistics, in microseconds.
    struct Window: Decodable { let p50, p99: Int64 }

    /// What is counted since the client was made.
    struct Broker: Decodable {
        let roundTrip: Window
        let timeouts: Int64
        private let sendErrors, receiveErrors: Int64
        private let disconnectCount: Int64?

        var requestErrors: Int64 { sendErrors + receiveErrors }
        var disconnects: Int64 { disconnectCount ?? 0 }

        private enum CodingKeys: String, CodingKey {
            case roundTrip = "rtt"
            case sendErrors = "txerrs"
            case receiveErrors = "rxerrs"
            case timeouts = "req_timeouts"
            case disconnectCount = "disconnects"
        }
    }

    private struct Topic: Decodable { let partitions: [String: Partition] }

    private struct Partition: Decodable {
        let fetchedRecords, fetchedBytes: Int64
        /// The end of the log; negative if unknown.
        let end: Offset

        private enum CodingKeys: String, CodingKey {
            case fetchedRecords = "fetchq_cnt"
            case fetchedBytes = "fetchq_size"
            case end = "hi_offset"
        }
    }

    private let unsentRecords, unsentBytes: Int64
    let brokers: [String: Broker]
    private let topics: [String: Topic]

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
    func end(of partition: TopicPartition) -> Offset? {
        topics[partition.topic]?.partitions["\(partition.partition)"].flatMap { $0.end >= 0 ? $0.end : nil }
    }

    /// The times of the slowest broker, in seconds.
    var roundTripMedian: Double { longest(\.p50) }
    var roundTripTail: Double { longest(\.p99) }
    /// Records to be sent, or fetched and not yet polled, and their bytes.
    var queuedRecords: Double { Double(unsentRecords + ofPartitions(\.fetchedRecords)) }
    var queuedBytes: Double { Double(unsentBytes + ofPartitions(\.fetchedBytes)) }

    private func longest(_ time: (Window) -> Int64) -> Double {
        Double(brokers.values.map { time($0.roundTrip) }.max() ?? 0) / 1_000_000
    }

    private func ofPartitions(_ count: (Partition) -> Int64) -> Int64 {
        topics.values.lazy.flatMap(\.partitions.values).reduce(0) { $0 + count($1) }
    }
}
