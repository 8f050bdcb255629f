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
    private let median: Gauge
    private let tail: Gauge
    private let queuedRecords: Gauge
    private let queuedBytes: Gauge
    private let errors: DeltaCounter
    private let timeouts: DeltaCounter
    private let disconnects: DeltaCounter

    init(worker: Int, client: KafkaClient, factory: any MetricsFactory) {
        let dimensions = [("worker", "\(worker)"), ("client", client.label)]
        median = factory.gauge(.kafkaRoundTripMedian, dimensions)
        tail = factory.gauge(.kafkaRoundTripTail, dimensions)
        queuedRecords = factory.gauge(.kafkaQueuedRecords, dimensions)
        queuedBytes = factory.gauge(.kafkaQueuedBytes, dimensions)
        errors = DeltaCounter(factory.counter(.kafkaRequestErrors, dimensions))
        timeouts = DeltaCounter(factory.counter(.kafkaRequestTimeouts, dimensions))
        disconnects = DeltaCounter(factory.counter(.kafkaDisconnects, dimensions))
    }

    func record(_ statistics: KafkaStatistics) {
        let brokers = statistics.brokers.values
        median.record(Self.seconds(brokers.map(\.roundTrip.p50).max() ?? 0))
        tail.record(Self.seconds(brokers.map(\.roundTrip.p99).max() ?? 0))
        queuedRecords.record(statistics.queuedRecords)
        queuedBytes.record(statistics.queuedBytes)
        errors.advance(to: brokers.reduce(0) { $0 + $1.sendErrors + $1.receiveErrors })
        timeouts.advance(to: brokers.reduce(0) { $0 + $1.timeouts })
        disconnects.advance(to: brokers.reduce(0) { $0 + ($1.disconnects ?? 0) })
    }

    private static func seconds(_ microseconds: Int64) -> Double { Double(microseconds) / 1_000_000 }
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
