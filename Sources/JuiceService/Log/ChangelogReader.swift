import JuiceEngine
import Kafka

/// Reads partitions of the changelogs, as committed.
final class ChangelogReader {
    private let consumer: Consumer
    private let topics: TopicNames

    init(
        positions: [ChangelogPosition],
        configuration: ServiceConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        consumer = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        topics = configuration.topics
        try consumer.assign(
            Dictionary(
                uniqueKeysWithValues: positions.map { [topics] in
                    (TopicPartition(topic: topics[$0.topic], partition: $0.partition), $0.offset)
                }
            )
        )
    }

    /// The next records, and the partitions found at their end.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        var records: [ChangelogBatch.Record] = []
        var ends: [ChangelogPosition] = []
        for element in try consumer.poll(maxRecords: 10_000, timeout: timeout) {
            switch element {
            case .record(let record):
                records.append(
                    ChangelogBatch.Record(
                        topic: topic(record.topic),
                        partition: record.partition,
                        offset: record.offset,
                        timestamp: record.timestamp,
                        key: record.key,
                        value: record.value
                    )
                )
            case .endOfPartition(let partition, let next):
                ends.append(
                    ChangelogPosition(
                        topic: topic(partition.topic),
                        partition: partition.partition,
                        offset: next
                    )
                )
            case .failure(_, let error) where error.remedy == .retry:
                continue
            case .failure(_, let error):
                throw error
            }
        }
        return ChangelogBatch(records: records, ends: ends)
    }

    private func topic(_ name: String) -> ChangelogTopic { name == topics.stock ? .stock : .results }

    deinit { consumer.close() }
}
