import JuiceClient
import Kafka

/// What a contender has written and committed: the same view from outside of each of them.
///
/// It counts offsets. Transaction markers and the notes in the journal take some too: about 1 in 500.
///
/// Use it on one thread.
final class OutputProgress {
    private let connection: Connection
    private let consumer: Consumer
    private let partitions: [TopicPartition]

    /// Looks at a topic with so many partitions.
    init(_ connection: Connection, topic: String, partitions count: Int) throws(Failure) {
        self.connection = connection
        partitions = (0..<Int32(clamping: count)).map { TopicPartition(topic: topic, partition: $0) }
        consumer = try connection.consumer()
    }

    deinit { consumer.close() }

    /// The number of committed records; nil if the broker cannot answer at the moment.
    func done() throws(Failure) -> Int? {
        do throws(KafkaError) {
            let ends = try consumer.endOffsets(of: partitions, timeout: .seconds(5))
            return ends.values.reduce(0) { $0 + Int($1) }
        } catch {
            guard error.remedy == .retry || error.code == .timedOut else { throw connection.failure(error) }
            return nil
        }
    }
}
