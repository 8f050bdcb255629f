import JuiceEngine
import Kafka

/// Finds out where partitions stand: what is committed, and where the logs begin and truly end.
///
/// It is kept until it succeeds, so that its connection is not made anew for each attempt.
final class RestorePointReader {
    private let configuration: ServiceConfiguration
    /// Sees past undecided transactions, which the group's consumer does not.
    private let logEnds: Consumer

    init(configuration: ServiceConfiguration, hooks: ClientHooks) throws(KafkaError) {
        self.configuration = configuration
        logEnds = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
    }

    deinit { logEnds.close() }

    /// - Parameter group: the consumer whose group's offsets are asked for. The broker answers once no transaction is
    ///   undecided about them.
    func read(
        _ partitions: [Int32],
        group: Consumer,
        timeout: Duration
    ) throws(KafkaError) -> [RestorePoint] {
        let topics = configuration.topics
        let inputs = InputTopic.allCases.flatMap { topic in
            partitions.map { TopicPartition(topic: topics[topic], partition: $0) }
        }
        let stock = partitions.map { TopicPartition(topic: topics.stock, partition: $0) }

        let committed = try group.committed(inputs, timeout: timeout)
        // Read from here on: whatever those offsets cover was written to the changelog before.
        let logs = try logEnds.watermarks(of: inputs + stock, timeout: timeout)

        func input(_ topic: InputTopic, _ number: Int32) throws(KafkaError) -> RestorePoint.Input {
            let partition = TopicPartition(topic: topics[topic], partition: number)
            let log = try Self.watermarks(of: partition, in: logs)
            return RestorePoint.Input(
                committed: committed[partition] ?? nil,
                log: log.low..<max(log.low, log.high)
            )
        }
        var points: [RestorePoint] = []
        for (partition, stock) in zip(partitions, stock) {
            points.append(
                RestorePoint(
                    partition: partition,
                    orders: try input(.orders, partition),
                    restocks: try input(.restocks, partition),
                    changelogEnd: try Self.watermarks(of: stock, in: logs).high
                )
            )
        }
        return points
    }

    private static func watermarks(
        of partition: TopicPartition,
        in logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) -> Watermarks {
        guard let watermarks = logs[partition] else {
            throw KafkaError(code: .timedOut, message: "\(partition): no answer", isRetriable: true)
        }
        return watermarks
    }
}
