import JuiceEngine
import Kafka

/// Reads partitions of the changelogs, as committed.
final class ChangelogReader {
    private let consumer: Consumer
    private let topics: TopicNames
    private let partitions: [TopicPartition]
    /// The topic of the last record: records come in runs, and a topic's name is not copied for each of them.
    private var lastTopic: (identity: OpaquePointer?, topic: ChangelogTopic)?
    /// The records of the last read; kept to reuse their memory.
    private var spare: [ChangelogBatch.Record] = []

    init(
        positions: [ChangelogPosition],
        configuration: ServiceConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        consumer = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        let topics = configuration.topics
        self.topics = topics
        partitions = positions.map { TopicPartition(topic: topics[$0.topic], partition: $0.partition) }
        try consumer.assign(Dictionary(uniqueKeysWithValues: zip(partitions, positions.map(\.offset))))
    }

    /// The next records, and the partitions found at their end.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        // Worked on as a local: every access to a class's own is checked.
        var records: [ChangelogBatch.Record] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        var ends: [ChangelogPosition] = []
        for element in try nextElements(timeout: timeout) {
            switch element {
            case .record(let record):
                records.append(
                    ChangelogBatch.Record(
                        topic: topic(of: record),
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

    /// librdkafka stops fetching when its queue is full, and version 2.0.2 looks again only when something wakes the leader's
    /// thread, at the latest after a second. So when nothing comes, the leaders are asked something small.
    private func nextElements(timeout: Duration) throws(KafkaError) -> RecordBatch {
        let elements = try consumer.poll(maxRecords: 10_000, timeout: min(timeout, .milliseconds(10)))
        guard elements.isEmpty else { return elements }
        _ = try? consumer.endOffsets(of: partitions, timeout: timeout)
        return try consumer.poll(maxRecords: 10_000, timeout: timeout)
    }

    private func topic(of record: ConsumedRecord) -> ChangelogTopic {
        if let lastTopic, lastTopic.identity == record.topicIdentity { return lastTopic.topic }
        let topic = topic(record.topic)
        lastTopic = (record.topicIdentity, topic)
        return topic
    }

    private func topic(_ name: String) -> ChangelogTopic { name == topics.stock ? .stock : .results }

    deinit { consumer.close() }
}
