import Foundation
import Kafka
import Metrics
import Synchronization

/// The metrics of one client, from librdkafka's statistics.
final class KafkaClientMetrics: Sendable {
    private let gauges: [(gauge: Gauge, value: KeyPath<KafkaStatistics, Double> & Sendable)]
    private let counters: [(counter: Counter, total: KeyPath<KafkaStatistics, Int64> & Sendable)]
    private let last = Mutex<KafkaStatistics?>(nil)

    init(_ client: [(String, String)], _ factory: any MetricsFactory) {
        gauges = [
            (factory.gauge(.kafkaRoundTripMedian, client), \.roundTripMedian),
            (factory.gauge(.kafkaRoundTripTail, client), \.roundTripTail),
            (factory.gauge(.kafkaQueuedRecords, client), \.queuedRecords),
            (factory.gauge(.kafkaQueuedBytes, client), \.queuedBytes),
        ]
        counters = [
            (factory.counter(.kafkaRequestErrors, client), \.requestErrors),
            (factory.counter(.kafkaRequestTimeouts, client), \.requestTimeouts),
            (factory.counter(.kafkaDisconnects, client), \.disconnects),
        ]
    }

    func record(_ statistics: KafkaStatistics) {
        let last = last.withLock { last in
            defer { last = statistics }
            return last
        }
        for (gauge, value) in gauges { gauge.record(statistics[keyPath: value]) }
        for (counter, total) in counters {
            // A new client counts from 0 again.
            let (now, before) = (statistics[keyPath: total], last?[keyPath: total] ?? 0)
            counter.increment(by: now >= before ? now - before : now)
        }
    }
}

/// The part of librdkafka's statistics that becomes metrics. Its STATISTICS.md documents the fields.
struct KafkaStatistics: Decodable {
    /// Times since the previous statistics, in microseconds.
    private struct Window: Decodable { let p50, p99: Int64 }

    private struct Broker: Decodable {
        let roundTrip: Window
        let sendErrors, receiveErrors, timeouts: Int64
        let disconnects: Int64?

        private enum CodingKeys: String, CodingKey {
            case roundTrip = "rtt"
            case sendErrors = "txerrs"
            case receiveErrors = "rxerrs"
            case timeouts = "req_timeouts"
            case disconnects
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
    private let brokers: [String: Broker]
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
    /// What was counted since the client was made.
    var requestErrors: Int64 { ofBrokers { $0.sendErrors + $0.receiveErrors } }
    var requestTimeouts: Int64 { ofBrokers(\.timeouts) }
    var disconnects: Int64 { ofBrokers { $0.disconnects ?? 0 } }

    private func longest(_ time: (Window) -> Int64) -> Double {
        Double(brokers.values.map { time($0.roundTrip) }.max() ?? 0) / 1_000_000
    }

    private func ofBrokers(_ count: (Broker) -> Int64) -> Int64 { brokers.values.reduce(0) { $0 + count($1) } }

    private func ofPartitions(_ count: (Partition) -> Int64) -> Int64 {
        topics.values.lazy.flatMap(\.partitions.values).reduce(0) { $0 + count($1) }
    }
}
