import JuiceEngine
import Kafka

/// Converts polled records into the engine's.
struct RecordConverter<Topic: Sendable & Hashable> {
    private let topics: [String: Topic]
    /// The topic of the last record. Records come in runs, so a topic's name need not be copied for each of them.
    private var last: (identity: OpaquePointer?, topic: Topic)?
    /// The records of the last batch; kept to reuse their memory.
    private var spare: [LogRecord<Topic>] = []
    /// Partitions that cannot be read on, since their bytes are damaged. Nothing that follows may be taken.
    private var damaged: Set<TopicPartition> = []

    /// - Parameter topics: the topics to expect, by name. Records of others are skipped.
    init(_ topics: [String: Topic]) { self.topics = topics }

    /// Other partitions are read, or the same from elsewhere. A topic's identity may be another's by then.
    mutating func begin() { (last, damaged) = (nil, []) }

    /// The records of a batch, the partitions that have been read to their ends, and the places that cannot be read. The bytes
    /// belong to the batch.
    ///
    /// - Parameter failed: called for each other error, with its partition if known.
    mutating func convert<Failure: Error>(
        _ batch: RecordBatch,
        failed: (TopicPartition?, KafkaError) throws(Failure) -> Void
    ) throws(Failure) -> (
        records: [LogRecord<Topic>], ends: [LogPosition<Topic>], damages: [LogPosition<Topic>: String]
    ) {
        var records: [LogRecord<Topic>] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        var ends: [LogPosition<Topic>] = []
        var damages: [LogPosition<Topic>: String] = [:]
        for (index, element) in batch.enumerated() {
            switch element {
            case .record(let record):
                guard let topic = topic(record.topicIdentity, named: record.topic) else { continue }
                if !damaged.isEmpty, damaged.contains(TopicPartition(topic: record.topic, partition: record.partition)) { continue }
                records.append(
                    LogRecord(
                        topic: topic, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            case .endOfPartition(let end, let next):
                guard let topic = topics[end.topic], !damaged.contains(end) else { continue }
                ends.append(LogPosition(topic: topic, partition: end.partition, offset: next))
            case .failure(let partition?, let error) where error.code.isDamage:
                guard let topic = topics[partition.topic], damaged.insert(partition).inserted else { continue }
                let place = LogPosition(topic: topic, partition: partition.partition, offset: error.offset ?? 0)
                damages[place] = error.message
            case .failure(let partition, let error): try failed(partition, error)
            }
        }
        return (records, ends, damages)
    }

    /// The topic with an identity of librdkafka's. Its name, which would have to be copied, is asked for only if the last record
    /// was of another one.
    mutating func topic(_ identity: OpaquePointer?, named name: @autoclosure () -> String) -> Topic? {
        if let last, last.identity == identity { return last.topic }
        guard let topic = topics[name()] else { return nil }
        last = (identity, topic)
        return topic
    }
}
