import Kafka

/// How many records a topic has, seen from outside in the same way for all writers.
///
/// It counts offsets. Transaction markers and notes in the journal take about 1 in 500 of them. Use it on one thread.
final class RecordCount {
    private let consumer: Consumer
    private let partitions: [TopicPartition]

    init(_ cluster: BenchCluster, of topic: String, partitions count: Int) throws(KafkaError) {
        partitions = (0..<Int32(clamping: count)).map { TopicPartition(topic: topic, partition: $0) }
        consumer = try cluster.consumer()
    }

    deinit { consumer.close() }

    /// The number of committed records; nil if the broker cannot answer at the moment.
    func callAsFunction() throws(KafkaError) -> Int? {
        do throws(KafkaError) {
            return try consumer.endOffsets(of: partitions, timeout: .seconds(5)).values.reduce(0) { $0 + Int($1) }
        } catch {
            guard error.remedy == .retry else { throw error }
            return nil
        }
    }
}
