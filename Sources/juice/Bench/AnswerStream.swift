import Kafka

/// Reads answers as soon as they are committed.
///
/// It belongs to one thread.
final class AnswerStream {
    private let connection: Connection
    private let consumer: Consumer

    /// Reads the topic from its start.
    init(_ connection: Connection, topic: String, partitions: Int) throws(Failure) {
        self.connection = connection
        let configuration = KafkaConfiguration(["fetch.wait.max.ms": "10", "fetch.min.bytes": "1"])
            .merging(connection.properties)
            .merging([
                // No group is joined; librdkafka asks for its coordinator all the same, which may need a right.
                "bootstrap.servers": connection.bootstrapServers, "group.id": "\(topic).reader",
                "enable.auto.commit": "false", "isolation.level": "read_committed",
            ])
        do throws(KafkaError) {
            consumer = try Consumer(configuration: configuration, hooks: .silent)
            try consumer.assign(
                Dictionary(
                    uniqueKeysWithValues: (0..<Int32(clamping: partitions)).map {
                        (TopicPartition(topic: topic, partition: $0), 0)
                    }
                )
            )
        } catch {
            throw connection.failure(error)
        }
    }

    deinit { consumer.close() }

    /// Calls `body` with the number of each order whose answer is at hand, after waiting for the first for a moment.
    ///
    /// - Returns: when they were at hand; nil where there are none.
    func poll(
        _ body: (Int, ContinuousClock.Instant) throws(Failure) -> Void
    ) throws(Failure) -> ContinuousClock.Instant? {
        let batch: RecordBatch
        do throws(KafkaError) {
            batch = try consumer.poll(maxRecords: 1_000, timeout: .milliseconds(20))
        } catch {
            throw connection.failure(error)
        }
        let now = ContinuousClock.now
        var found: ContinuousClock.Instant?
        for element in batch {
            switch element {
            case .record(let record):
                guard let value = record.value, let number = BenchOrders.number(in: value) else { continue }
                try body(number, now)
                found = now
            case .failure(_, let error) where error.remedy != .retry: throw connection.failure(error)
            case .failure, .endOfPartition: continue
            }
        }
        return found
    }
}
