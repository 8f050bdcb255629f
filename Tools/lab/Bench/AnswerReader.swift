import Kafka

/// Reads answers as soon as they are committed.
///
/// Use it on one thread.
final class AnswerReader {
    private let reader: PartitionReader

    /// Starts at the beginning of a topic.
    init(_ cluster: BenchCluster, of topic: String) throws {
        reader = PartitionReader(try cluster.consumer())
        var partitions: [TopicPartition]?
        // A new topic may have no leaders yet. Once librdkafka knows them, it does not look them up later.
        try wait(for: Site.patience) {
            do throws(KafkaError) {
                partitions = try reader.consumer.partitions(of: [topic], timeout: .seconds(5))
            } catch {
                guard error.remedy == .retry else { throw error }
            }
            return partitions != nil
        }
        guard let partitions else { throw ToolError("the brokers do not know \(topic)") }
        try reader.start(at: Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
    }

    deinit { reader.consumer.close() }

    /// Calls `body` with each available answer and its order's number, after waiting up to 20 ms for the first. Returns when the
    /// answers were read; nil if there were none.
    @discardableResult
    func poll(_ body: (Int, ConsumedRecord, ContinuousClock.Instant) throws -> Void) throws -> ContinuousClock.Instant? {
        var found: ContinuousClock.Instant?
        for record in try reader.poll(timeout: .milliseconds(20)) {
            guard let value = record.value, let number = OrderGenerator.number(in: value) else { continue }
            let now = found ?? .now
            found = now
            try body(number, record, now)
        }
        return found
    }
}
