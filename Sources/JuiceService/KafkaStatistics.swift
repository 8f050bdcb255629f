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
            (factory.counter(.kafkaRequestTimeouts, client), \.reqTimeouts),
            (factory.counter(.kafkaDisconnects, client), \.disconnectCount),
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

/// The part of librdkafka's statistics that becomes metrics. Its STATISTICS.md documents the fields, under the same names.
struct KafkaStatistics: Decodable {
    /// Times since the previous statistics, in microseconds.
    struct Window: Decodable { let p50, p99: Int64 }

    /// What is counted since the client was made.
    struct Broker: Decodable {
        let rtt: Window
        let txerrs, rxerrs, reqTimeouts: Int64
        let disconnects: Int64?

        var requestErrors: Int64 { txerrs + rxerrs }
        var disconnectCount: Int64 { disconnects ?? 0 }
    }

    private struct Topic: Decodable { let partitions: [String: Partition] }

    private struct Partition: Decodable { let fetchqCnt, fetchqSize, hiOffset: Int64 }

    private let msgCnt, msgSize: Int64
    let brokers: [String: Broker]
    private let topics: [String: Topic]

    /// Parses a document; nil if it is malformed.
    init?(_ json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let statistics = try? decoder.decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = statistics
    }

    /// The end of a partition, records of open transactions included; nil if the client does not know it yet.
    func end(of partition: TopicPartition) -> Offset? {
        topics[partition.topic]?.partitions["\(partition.partition)"].flatMap { $0.hiOffset >= 0 ? $0.hiOffset : nil }
    }

    /// The times of the slowest broker, in seconds.
    var roundTripMedian: Double { longest(\.p50) }
    var roundTripTail: Double { longest(\.p99) }
    /// Records to be sent, or fetched and not yet polled, and their bytes.
    var queuedRecords: Double { Double(msgCnt + ofPartitions(\.fetchqCnt)) }
    var queuedBytes: Double { Double(msgSize + ofPartitions(\.fetchqSize)) }

    private func longest(_ time: (Window) -> Int64) -> Double { Double(brokers.values.map { time($0.rtt) }.max() ?? 0) / 1_000_000 }

    private func ofPartitions(_ count: (Partition) -> Int64) -> Int64 {
        topics.values.lazy.flatMap(\.partitions.values).reduce(0) { $0 + count($1) }
    }
}
