import Foundation
import JuiceEngine
import Kafka
import Metrics
import Synchronization

/// The clients of a worker whose statistics become metrics.
enum KafkaClient: Hashable, CaseIterable, Sendable {
    case consumer
    case producer(index: Int)

    static let allCases = [consumer] + ServiceConfiguration.producerIndices.map(KafkaClient.producer)

    /// The value of the label `client`.
    var label: String {
        switch self {
        case .consumer: "consumer"
        case .producer(let index): "producer-\(index)"
        }
    }
}

extension ClientHooks {
    /// The same hooks, which also report a client's statistics to the metrics.
    func reporting(_ client: KafkaClient, to metrics: WorkerMetrics?) -> ClientHooks {
        guard let metrics else { return self }
        var hooks = self
        hooks.onStatistics = { metrics.record(statistics: $0, of: client) }
        return hooks
    }
}

/// The metrics of one client, from librdkafka's statistics.
final class KafkaClientMetrics: Sendable {
    private typealias Measured = (gauge: Gauge, value: @Sendable (KafkaStatistics) -> Double)
    private typealias Counted = (counter: DeltaCounter, total: @Sendable (KafkaStatistics) -> Int64)

    private let gauges: [Measured]
    private let counters: [Counted]

    init(_ dimensions: [(String, String)], _ factory: any MetricsFactory) {
        func gauge(_ metric: ServiceMetric, _ value: @escaping @Sendable (KafkaStatistics) -> Double) -> Measured {
            (factory.gauge(metric, dimensions), value)
        }
        func counter(_ metric: ServiceMetric, _ total: @escaping @Sendable (KafkaStatistics) -> Int64) -> Counted {
            (DeltaCounter(factory.counter(metric, dimensions)), total)
        }
        gauges = [
            gauge(.kafkaRoundTripMedian) { $0.slowestBroker(\.roundTrip.p50) },
            gauge(.kafkaRoundTripTail) { $0.slowestBroker(\.roundTrip.p99) },
            gauge(.kafkaQueuedRecords) { Double($0.queuedRecords) }, gauge(.kafkaQueuedBytes) { Double($0.queuedBytes) },
        ]
        counters = [
            counter(.kafkaRequestErrors) { $0.ofBrokers { $0.sendErrors + $0.receiveErrors } },
            counter(.kafkaRequestTimeouts) { $0.ofBrokers(\.timeouts) },
            counter(.kafkaDisconnects) { $0.ofBrokers { $0.disconnects ?? 0 } },
        ]
    }

    func record(_ statistics: KafkaStatistics) {
        for (gauge, value) in gauges { gauge.record(value(statistics)) }
        for (counter, total) in counters { counter.advance(to: total(statistics)) }
    }
}

/// Turns a cumulative counter that may reset into increments.
private final class DeltaCounter: Sendable {
    private let counter: Counter
    private let last = Mutex<Int64>(0)

    init(_ counter: Counter) { self.counter = counter }

    func advance(to total: Int64) {
        let growth = last.withLock { last in
            defer { last = total }
            return total >= last ? total - last : total
        }
        if growth > 0 { counter.increment(by: growth) }
    }
}

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
        guard let end = topics[partition.topic]?.partitions["\(partition.partition)"]?.end, end >= 0 else { return nil }
        return end
    }

    /// The longest of the brokers' times, which are in microseconds, in seconds.
    func slowestBroker(_ time: (Broker) -> Int64) -> Double { Double(brokers.values.map(time).max() ?? 0) / 1_000_000 }

    /// The sum over all brokers.
    func ofBrokers(_ count: (Broker) -> Int64) -> Int64 { brokers.values.reduce(0) { $0 + count($1) } }

    private var partitions: some Sequence<Partition> { topics.values.lazy.flatMap(\.partitions.values) }

    /// Records to be sent, or fetched and not yet polled.
    var queuedRecords: Int64 { unsentRecords + partitions.reduce(0) { $0 + $1.fetchedRecords } }
    /// The bytes of these records.
    var queuedBytes: Int64 { unsentBytes + partitions.reduce(0) { $0 + $1.fetchedBytes } }
}
