import JuiceClient
import Kafka

/// How far a group is with a topic, by its committed offsets: seen from outside, and for every group in the same way.
///
/// It belongs to one thread.
final class GroupProgress {
    private let connection: Connection
    private let consumer: Consumer
    private let partitions: [TopicPartition]

    /// Joins no group.
    init(_ connection: Connection, group: String, topic: String, partitions count: Int) throws(Failure) {
        self.connection = connection
        partitions = (0..<Int32(clamping: count)).map { TopicPartition(topic: topic, partition: $0) }
        // Seeing only what is committed, it would be told nothing while a transaction is undecided.
        consumer = try connection.consumer(group: group, isolation: "read_uncommitted")
    }

    deinit { consumer.close() }

    /// The records that are done with, committed; nil when the broker does not say now.
    func done() throws(Failure) -> Int? {
        do throws(KafkaError) {
            let offsets = try consumer.committed(partitions, timeout: .seconds(5))
            return offsets.values.reduce(0) { $0 + max(0, Int($1 ?? 0)) }
        } catch {
            guard error.remedy == .retry || error.code == .timedOut else { throw connection.failure(error) }
            return nil
        }
    }

    /// Commits 0 for each partition, as a service would have that wrote the stock.
    func commitStart() throws(Failure) {
        try connection.ask { () throws(KafkaError) in
            try consumer.commit(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
        }
    }
}
