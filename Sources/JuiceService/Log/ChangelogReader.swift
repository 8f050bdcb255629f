import JuiceEngine
import JuiceMessages
import Kafka

/// Reads the committed records of changelog partitions.
final class ChangelogReader {
    private let consumer: Consumer
    private let partitions: [TopicPartition]
    private var converter: RecordConverter<ChangelogTopic>

    init(
        positions: [ChangelogPosition],
        configuration: ServiceConfiguration,
        hooks: ClientHooks
    ) throws(KafkaError) {
        consumer = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
        let topics = configuration.topics
        converter = RecordConverter([topics.stock: .stock, topics.results: .results])
        partitions = positions.map { TopicPartition(topic: topics[$0.topic], partition: $0.partition) }
        try consumer.assign(Dictionary(uniqueKeysWithValues: zip(partitions, positions.map(\.offset))))
    }

    /// The next records, and the partitions that have been read to their ends.
    func read(timeout: Duration) throws(KafkaError) -> ChangelogBatch {
        let (records, ends) = try converter.convert(nextElements(timeout: timeout)) {
            (_, error) throws(KafkaError) in
            if error.remedy != .retry { throw error }
        }
        return ChangelogBatch(records: records, ends: ends)
    }

    /// Fetching pauses when librdkafka's queue is full, so an empty poll makes it resume.
    private func nextElements(timeout: Duration) throws(KafkaError) -> RecordBatch {
        let elements = try consumer.poll(maxRecords: 10_000, timeout: min(timeout, .milliseconds(10)))
        guard elements.isEmpty else { return elements }
        consumer.fetchOn(from: partitions, timeout: timeout)
        return try consumer.poll(maxRecords: 10_000, timeout: timeout)
    }

    deinit { consumer.close() }
}
