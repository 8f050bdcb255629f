import JuiceEngine
import JuiceMessages
import Metrics

/// How far the committed offsets are behind the ends of the input partitions.
struct ConsumerLag {
    private let topics: TopicNames
    private let factory: any MetricsFactory
    private var committed: [InputPartition: Offset] = [:]
    private var gauges: [InputPartition: Gauges] = [:]

    private struct InputPartition: Hashable {
        let topic: InputTopic
        let number: Int32
    }

    private struct Gauges {
        let offset: Gauge
        let lag: Gauge
    }

    init(topics: TopicNames, factory: any MetricsFactory) {
        self.topics = topics
        self.factory = factory
    }

    /// Sets the committed offsets.
    mutating func commit(_ positions: [InputPosition]) {
        for position in positions { committed[InputPartition(topic: position.topic, number: position.partition)] = position.offset }
    }

    /// Records the lag, by the ends of partitions in the consumer's statistics. Partitions whose end it does not know yet have
    /// no lag.
    mutating func record(_ statistics: KafkaStatistics) {
        for (partition, offset) in committed {
            guard let end = statistics.end(of: topics[partition.topic], partition.number) else { continue }
            let gauges = gauges[partition] ?? makeGauges(of: partition)
            self.gauges[partition] = gauges
            gauges.offset.record(offset)
            gauges.lag.record(max(0, end - offset))
        }
    }

    private func makeGauges(of partition: InputPartition) -> Gauges {
        let place = [("topic", topics[partition.topic]), ("partition", "\(partition.number)")]
        return Gauges(offset: factory.gauge(.committedOffset, place), lag: factory.gauge(.consumerLag, place))
    }

    /// Forgets all partitions after a revocation: another instance reports them now.
    mutating func removeAll() {
        for gauge in gauges.values {
            gauge.offset.destroy()
            gauge.lag.destroy()
        }
        gauges = [:]
        committed = [:]
    }
}
