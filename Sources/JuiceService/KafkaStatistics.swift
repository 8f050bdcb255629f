import Foundation
import Kafka

/// The part of librdkafka's statistics that becomes metrics. Its STATISTICS.md documents the fields, under the same names.
struct KafkaStatistics: Decodable {
    /// Times since the previous statistics, in microseconds.
    private struct Window: Decodable { let p50, p99: Int64 }

    private struct Broker: Decodable { let rtt: Window }

    private struct Topic: Decodable { let partitions: [String: Partition] }

    private struct Partition: Decodable { let hiOffset: Int64 }

    private let brokers: [String: Broker]
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

    private func longest(_ time: (Window) -> Int64) -> Double { Double(brokers.values.map { time($0.rtt) }.max() ?? 0) / 1_000_000 }
}
