import JuiceEngine
import Kafka

/// Reads partitions of the changelog from their start, as committed.
final class ChangelogReader {
    private let consumer: Consumer

    init(
        partitions: [Int32],
        configuration: ServiceConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        consumer = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        let stock = configuration.topics.stock
        try consumer.assign(
            Dictionary(
                uniqueKeysWithValues: partitions.map { (TopicPartition(topic: stock, partition: $0), 0) }
            )
        )
    }

    /// The next records, and the partitions found at their end.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        var records: [ChangelogBatch.Record] = []
        var ends: [(partition: Int32, next: Offset)] = []
        for element in try consumer.poll(maxRecords: 10_000, timeout: timeout) {
            switch element {
            case .record(let record):
                records.append(
                    ChangelogBatch.Record(
                        partition: record.partition,
                        offset: record.offset,
                        key: record.key,
                        value: record.value
                    )
                )
            case .endOfPartition(let partition, let next):
                ends.append((partition.partition, next))
            case .failure(_, let error) where error.remedy == .retry:
                continue
            case .failure(_, let error):
                throw error
            }
        }
        return ChangelogBatch(records: records, ends: ends)
    }

    deinit { consumer.close() }
}
