import JuiceEngine
import Kafka

/// Finds out where partitions stand: what is committed, and where the logs begin and truly end.
///
/// It is kept until it succeeds, so that its connection is not made anew for each attempt.
final class RestorePointReader {
    private let configuration: ServiceConfiguration
    /// Sees past undecided transactions, which the group's consumer does not.
    private let logEnds: Consumer
    private var formerOwners: FormerOwners
    /// How long the group's coordinator may take before an undecided transaction is suspected. It is suspected once.
    private var patience: Duration? = .milliseconds(200)

    init(configuration: ServiceConfiguration, worker: Int, hooks: ClientHooks) throws(KafkaError) {
        self.configuration = configuration
        logEnds = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        formerOwners = FormerOwners(configuration: configuration, worker: worker, hooks: hooks)
    }

    deinit { logEnds.close() }

    /// - Parameters:
    ///   - group: the consumer whose group's offsets are asked for. The broker answers once no transaction is undecided
    ///     about them.
    ///   - time: answers are wanted from then on.
    func read(
        _ partitions: [Int32],
        group: Consumer,
        answersSince time: Timestamp,
        timeout: Duration
    ) throws(KafkaError) -> [RestorePoint] {
        let topics = configuration.topics
        let inputs = InputTopic.allCases.flatMap { topic in
            partitions.map { TopicPartition(topic: topics[topic], partition: $0) }
        }
        let changelogs = ChangelogTopic.allCases.flatMap { topic in
            partitions.map { TopicPartition(topic: topics[topic], partition: $0) }
        }

        let committed = try committed(inputs, group: group, timeout: timeout)
        // Read from here on: whatever those offsets cover was written to the changelogs before.
        let logs = try logEnds.watermarks(of: inputs + changelogs, timeout: timeout)
        let answers = try firstAnswers(partitions, since: time, in: logs, timeout: timeout)

        func input(_ topic: InputTopic, _ number: Int32) throws(KafkaError) -> RestorePoint.Input {
            let partition = TopicPartition(topic: topics[topic], partition: number)
            let log = try Self.watermarks(of: partition, in: logs)
            return RestorePoint.Input(
                committed: committed[partition] ?? nil,
                log: log.low..<max(log.low, log.high)
            )
        }
        var points: [RestorePoint] = []
        for number in partitions {
            let stock = TopicPartition(topic: topics.stock, partition: number)
            points.append(
                RestorePoint(
                    partition: number,
                    orders: try input(.orders, number),
                    restocks: try input(.restocks, number),
                    stockEnd: try Self.watermarks(of: stock, in: logs).high,
                    results: answers[number] ?? 0..<0
                )
            )
        }
        return points
    }

    private func committed(
        _ inputs: [TopicPartition],
        group: Consumer,
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset?] {
        guard let patience else { return try group.committed(inputs, timeout: timeout) }
        do throws(KafkaError) {
            return try group.committed(inputs, timeout: patience)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        self.patience = nil
        formerOwners.endTransactions(of: inputs, askedOf: logEnds, timeout: timeout)
        return try group.committed(inputs, timeout: timeout)
    }

    private func firstAnswers(
        _ partitions: [Int32],
        since time: Timestamp,
        in logs: [TopicPartition: Watermarks],
        timeout: Duration
    ) throws(KafkaError) -> [Int32: Range<Offset>] {
        let results = partitions.map { TopicPartition(topic: configuration.topics.results, partition: $0) }
        // The embedded broker knows no times, and forgets everything before long by itself.
        let first =
            configuration.isEmbedded ? [:] : try logEnds.offsets(of: results, since: time, timeout: timeout)
        var ranges: [Int32: Range<Offset>] = [:]
        for partition in results {
            let log = try Self.watermarks(of: partition, in: logs)
            // No record that young, no answer to read.
            let start = first[partition] ?? (configuration.isEmbedded ? log.low : log.high)
            ranges[partition.partition] = min(start, log.high)..<log.high
        }
        return ranges
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
