import Foundation
import JuiceEngine
import Kafka

/// Finds out where partitions stand: what is committed, and where the logs begin and truly end.
///
/// It is kept until it succeeds, so that its connection is not made anew for each attempt.
final class RestorePointReader {
    private let configuration: ServiceConfiguration
    private let partitionCount: Int32
    /// Told its group's offsets once no transaction is undecided about them.
    private let group: Consumer
    /// Sees past undecided transactions, which the group's consumer does not.
    private let logEnds: Consumer
    private var takeover: TransactionTakeover
    /// The transactional ids of the worker that restores.
    private let ownIDs: Set<String>
    private let ownPrefix: String
    /// Those of whoever committed last for the partitions at hand, and those under which they may have gone on.
    private var suspects: Set<String> = []
    /// How long a question waits, and how long a transaction may be undecided before its owner is taken to be dead.
    private var (timeout, patience) = (Duration.zero, Duration.zero)
    /// Partitions where a topic has no leader, with its name, so that nothing can be said of them now.
    private var leaderless: [Int32: String] = [:]

    /// Nobody alive leaves a transaction undecided for longer than this and what the cluster takes to answer.
    private static let leastPatience = Duration.milliseconds(200)

    /// - Parameters:
    ///   - worker: the one that restores.
    ///   - ownIDs: its transactional ids.
    ///   - group: the worker's member of the group.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        ownIDs: [String],
        partitionCount: Int32,
        group: Consumer,
        hooks: ClientHooks
    ) throws(KafkaError) {
        self.configuration = configuration
        self.partitionCount = partitionCount
        self.group = group
        logEnds = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        self.ownIDs = Set(ownIDs)
        ownPrefix = configuration.ownerName(worker: worker) + "/"
        // Every committed offset carries a note of whose it is, so it is known whose transaction may be open.
        takeover = TransactionTakeover(logger: hooks.logger) { id throws(KafkaError) in
            try TransactionalProducer(configuration: configuration.producer(id: id), hooks: hooks)
        }
    }

    deinit { logEnds.close() }

    /// - Parameters:
    ///   - retention: how long answers are kept.
    ///   - now: the time of day.
    ///   - timeout: for each question to the cluster.
    func read(
        _ partitions: [Int32],
        retention: Timestamp,
        now: Timestamp,
        timeout: Duration
    ) throws(KafkaError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        self.timeout = timeout
        do throws(KafkaError) {
            let points = try points(of: partitions.filter { leaderless[$0] == nil }, retention, now: now)
            return (points, leaderless.filter { partitions.contains($0.key) })
        } catch {
            // One partition that cannot be asked about must not keep the others from being read.
            if error.remedy == .retry { try findLeaders() }
            throw error
        }
    }

    private func findLeaders() throws(KafkaError) {
        let names = configuration.topics.inputs + configuration.topics.changelogs
        let topics = try logEnds.metadata(topics: names, timeout: timeout).topics
        leaderless = [:]
        for topic in topics { for partition in topic.leaderless { leaderless[partition] = topic.name } }
    }

    private func points(
        of partitions: [Int32],
        _ retention: Timestamp,
        now: Timestamp
    ) throws(KafkaError) -> [RestorePoint] {
        let owners = try owners()
        // Asked again, now that it is connected: how long that takes says how long the group's consumer may.
        let start = ContinuousClock.now
        _ = try self.owners()
        patience = Self.leastPatience + (ContinuousClock.now - start) * 3

        let inputs = self.partitions(partitions, of: configuration.topics.inputs)
        let changelogs = self.partitions(partitions, of: configuration.topics.changelogs)
        let notes = inputs.compactMap { owners[$0] }
        let known = Set(notes.flatMap(\.transactionalIDs))
        suspects = known.union(notes.flatMap(\.nextTransactionalIDs))
        // Of this worker's earlier selves it is known that they are dead.
        endTransactions(of: known.filter { $0.hasPrefix(ownPrefix) })
        let committed = try committed(inputs)
        // Read from here on: whatever those offsets cover was written to the changelogs before.
        let logs = try logEnds.watermarks(of: inputs + changelogs, timeout: timeout)
        try waitUntilDecided(changelogs, in: logs)
        // Brokers that know no stable offsets tell those of before an undecided transaction.
        guard try group.committed(inputs, timeout: timeout) == committed else {
            throw KafkaError(
                code: .state,
                message: "somebody else's transaction was just committed",
                isRetriable: true
            )
        }
        // The embedded broker knows no times, and forgets everything before long by itself.
        let starts =
            configuration.isEmbedded
            ? nil
            : try horizons(partitions, committed, logs, now: now)
                .mapValues { $0.start(retention: retention) }
        let answers = try firstAnswers(partitions, since: starts, in: logs)

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
    private func owners() throws(KafkaError) -> [TopicPartition: OwnerNote] {
        let all = partitions(Array(0..<partitionCount), of: configuration.topics.inputs)
        var owners: [TopicPartition: OwnerNote] = [:]
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
            owners[partition] = note
        }
        return owners
    }

    private func committed(_ inputs: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Offset?] {
        do throws(KafkaError) {
            return try group.committed(inputs, timeout: patience)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        endTransactions(of: suspects)
        return try group.committed(inputs, timeout: timeout)
    }

    private func endTransactions(of ids: Set<String>) {
        takeover.endTransactions(
            of: ids.filter { !ownIDs.contains($0) && $0.hasPrefix(configuration.ownerPrefix) }
        )
    }

    /// A transaction that has written answers or stock, and was not yet asked to commit any offsets, shows only there.
    private func waitUntilDecided(
        _ changelogs: [TopicPartition],
        in logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) {
        let start = ContinuousClock.now
        while true {
            let stable = try group.endOffsets(of: changelogs, timeout: timeout)
            let undecided = changelogs.first { stable[$0, default: 0] < logs[$0]?.high ?? 0 }
            guard let undecided else { return }
            let waited = ContinuousClock.now - start
            if waited > patience { endTransactions(of: suspects) }
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

    private func horizons(
        _ partitions: [Int32],
        _ committed: [TopicPartition: Offset?],
        _ logs: [TopicPartition: Watermarks],
        now: Timestamp
    ) throws(KafkaError) -> [Int32: AnswerHorizon] {
        var horizons = AnswerHorizons(of: partitions, now: now, consumer: logEnds)
        for partition in self.partitions(partitions, of: [configuration.topics.results]) {
            horizons.lookAtAnswers(partition, in: try Self.watermarks(of: partition, in: logs))
        }
        for topic in InputTopic.allCases {
            for partition in self.partitions(partitions, of: [configuration.topics[topic]]) {
                horizons.lookAtCommands(
                    topic,
                    partition,
                    committed: committed[partition] ?? nil,
                    in: try Self.watermarks(of: partition, in: logs)
                )
            }
        }
        return try horizons.read(timeout: timeout)
    }

    /// - Parameter times: from when on each partition's are wanted; nil where all are.
    private func firstAnswers(
        _ partitions: [Int32],
        since times: [Int32: Timestamp]?,
        in logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) -> [Int32: Range<Offset>] {
        let results = self.partitions(partitions, of: [configuration.topics.results])
        var since: [TopicPartition: Timestamp] = [:]
        for partition in results { since[partition] = times?[partition.partition] }
        let first = try logEnds.offsets(since: since, timeout: timeout)
        var ranges: [Int32: Range<Offset>] = [:]
        for partition in results {
            let log = try Self.watermarks(of: partition, in: logs)
            // No record that young, no answer to read.
            let start = first[partition] ?? (times == nil ? log.low : log.high)
            ranges[partition.partition] = min(start, log.high)..<log.high
        }
        return ranges
    }
}
