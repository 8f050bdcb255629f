import Foundation
import JuiceEngine
import Kafka

/// Finds out where partitions stand: what is committed, and where the logs begin and truly end.
///
/// It is kept until it succeeds, so that its connection is not made anew for each attempt.
final class RestorePointReader {
    private let configuration: ServiceConfiguration
    private let partitionCount: Int32
    /// Sees past undecided transactions, which the group's consumer does not.
    private let logEnds: Consumer
    private var formerOwners: FormerOwners

    /// A transaction that takes longer than this to be decided, and than the cluster takes to answer anything, is suspected
    /// to be a dead instance's.
    private static let patience = Duration.milliseconds(200)

    /// - Parameter owner: the worker that restores.
    init(
        configuration: ServiceConfiguration,
        owner: String,
        partitionCount: Int32,
        hooks: ClientHooks
    ) throws(KafkaError) {
        self.configuration = configuration
        self.partitionCount = partitionCount
        logEnds = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        formerOwners = FormerOwners(configuration: configuration, ownName: owner, hooks: hooks)
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
        let owners = try owners(timeout: timeout)
        // Asked again, now that it is connected: how long that takes says how long the group's consumer may.
        let start = ContinuousClock.now
        _ = try self.owners(timeout: timeout)
        let patience = Self.patience + (ContinuousClock.now - start) * 3

        let inputs = self.partitions(partitions, of: InputTopic.allCases.map { configuration.topics[$0] })
        let changelogs = self.partitions(
            partitions,
            of: ChangelogTopic.allCases.map { configuration.topics[$0] }
        )
        let suspects = Set(inputs.compactMap { owners[$0] })
        let committed = try committed(inputs, group, suspects, patience: patience, timeout: timeout)
        // Read from here on: whatever those offsets cover was written to the changelogs before.
        let logs = try logEnds.watermarks(of: inputs + changelogs, timeout: timeout)
        try waitUntilDecided(changelogs, in: logs, group, suspects, patience: patience, timeout: timeout)
        let answers = try firstAnswers(partitions, since: time, in: logs, timeout: timeout)

        var points: [RestorePoint] = []
        for number in partitions {
            let stock = TopicPartition(topic: configuration.topics.stock, partition: number)
            points.append(
                RestorePoint(
                    partition: number,
                    orders: try input(.orders, number, committed, logs),
                    restocks: try input(.restocks, number, committed, logs),
                    stockEnd: try Self.watermarks(of: stock, in: logs).high,
                    results: answers[number] ?? 0..<0
                )
            )
        }
        return points
    }

    private func partitions(_ numbers: [Int32], of topics: [String]) -> [TopicPartition] {
        topics.flatMap { topic in numbers.map { TopicPartition(topic: topic, partition: $0) } }
    }

    private func input(
        _ topic: InputTopic,
        _ number: Int32,
        _ committed: [TopicPartition: Offset?],
        _ logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) -> RestorePoint.Input {
        let partition = TopicPartition(topic: configuration.topics[topic], partition: number)
        let log = try Self.watermarks(of: partition, in: logs)
        return RestorePoint.Input(
            committed: committed[partition] ?? nil,
            log: log.low..<max(log.low, log.high)
        )
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

// MARK: - Undecided transactions

extension RestorePointReader {
    /// Who committed last for each input partition of the whole group, also while a transaction is undecided about them.
    ///
    /// - Throws: ``KafkaError`` when somebody counted other partitions: the stores would be split in two.
    private func owners(timeout: Duration) throws(KafkaError) -> [TopicPartition: String] {
        let all = partitions(
            Array(0..<partitionCount),
            of: InputTopic.allCases.map { configuration.topics[$0] }
        )
        var owners: [TopicPartition: String] = [:]
        for (partition, text) in try logEnds.committedNotes(all, timeout: timeout) {
            guard let note = OwnerNote(text) else { continue }
            guard note.partitionCount == partitionCount else {
                throw KafkaError(
                    code: .invalidPartitions,
                    message:
                        "\(partition) was served as one of \(note.partitionCount) partitions, and now there are"
                        + " \(partitionCount); their number must not change while there is stock. Make topics with"
                        + " another --topic-prefix and copy the commands there"
                )
            }
            owners[partition] = note.owner
        }
        return owners
    }

    private func committed(
        _ inputs: [TopicPartition],
        _ group: Consumer,
        _ suspects: Set<String>,
        patience: Duration,
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset?] {
        do throws(KafkaError) {
            return try group.committed(inputs, timeout: patience)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        formerOwners.endTransactions(of: suspects)
        return try group.committed(inputs, timeout: timeout)
    }

    /// A transaction that has written answers or stock, and was not yet asked to commit any offsets, shows only there.
    private func waitUntilDecided(
        _ changelogs: [TopicPartition],
        in logs: [TopicPartition: Watermarks],
        _ group: Consumer,
        _ suspects: Set<String>,
        patience: Duration,
        timeout: Duration
    ) throws(KafkaError) {
        let start = ContinuousClock.now
        while true {
            let stable = try group.endOffsets(of: changelogs, timeout: timeout)
            let undecided = changelogs.first { stable[$0, default: 0] < logs[$0]?.high ?? 0 }
            guard let undecided else { return }
            let waited = ContinuousClock.now - start
            if waited > patience { formerOwners.endTransactions(of: suspects) }
            guard waited < patience + timeout else {
                throw KafkaError(
                    code: .timedOut,
                    message: "\(undecided): somebody's transaction is undecided",
                    isRetriable: true
                )
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    private func firstAnswers(
        _ partitions: [Int32],
        since time: Timestamp,
        in logs: [TopicPartition: Watermarks],
        timeout: Duration
    ) throws(KafkaError) -> [Int32: Range<Offset>] {
        let results = self.partitions(partitions, of: [configuration.topics.results])
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
}
