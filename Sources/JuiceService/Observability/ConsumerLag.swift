import JuiceEngine
import Metrics

/// How far the committed offsets are behind the ends of the input partitions.
struct ConsumerLag {
    private let topics: TopicNames
    private let factory: any MetricsFactory
    private var committed: [InputPartition: Offset] = [:]
    private var gauges: [InputPartition: Gauge] = [:]

    private struct InputPartition: Hashable {
        let topic: InputTopic
        let number: Int32
    }

    init(topics: TopicNames, factory: any MetricsFactory) {
        self.topics = topics
        self.factory = factory
    }

    /// Takes note of committed offsets.
    mutating func note(_ positions: [InputPosition]) {
        for position in positions {
            committed[InputPartition(topic: position.topic, number: position.partition)] = position.offset
        }
    }

    /// Takes note of where the partitions end, by the consumer's word. Those that it does not know yet have no lag to tell.
    mutating func note(_ statistics: KafkaStatistics) {
        for (partition, offset) in committed {
            guard let end = statistics.end(of: topics[partition.topic], partition.number) else { continue }
            let gauge =
                gauges[partition]
                ?? factory.gauge(
                    .consumerLag,
                    [("topic", topics[partition.topic]), ("partition", "\(partition.number)")]
                )
            gauges[partition] = gauge
            gauge.record(max(0, end - offset))
        }
    }

    /// Forgets partitions that were given up: another instance tells of them now.
    mutating func removeAll() {
        for gauge in gauges.values { gauge.destroy() }
        gauges = [:]
        committed = [:]
    }
}
