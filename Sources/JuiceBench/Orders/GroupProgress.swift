import JuiceClient
import Kafka

/// The progress of a consumer group on a topic, by its committed offsets: the same external view of every contender.
///
/// Use it on one thread.
final class GroupProgress {
    private let connection: Connection
    private let consumer: Consumer
    private let partitions: [TopicPartition]

    /// Does not join the group.
    init(_ connection: Connection, group: String, topic: String, partitions count: Int) throws(Failure) {
        self.connection = connection
        partitions = (0..<Int32(clamping: count)).map { TopicPartition(topic: topic, partition: $0) }
        // With read_committed the broker does not report offsets while a transaction is open on them.
        consumer = try connection.consumer(group: group, isolation: "read_uncommitted")
    }

    deinit { consumer.close() }

    /// The number of committed records; nil if the broker cannot answer at the moment.
    func done() throws(Failure) -> Int? {
        do throws(KafkaError) {
            let offsets = try consumer.committed(partitions, timeout: .seconds(5))
            return offsets.values.reduce(0) { $0 + max(0, Int($1 ?? 0)) }
        } catch {
            guard error.remedy == .retry || error.code == .timedOut else { throw connection.failure(error) }
            return nil
        }
    }

    /// Commits offset 0 for each partition, as the service that wrote the stock would have.
    func commitStart() throws(Failure) {
        try connection.ask { () throws(KafkaError) in
            try consumer.commit(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
        }
    }
}
