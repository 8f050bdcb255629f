import Foundation
import JuiceEngine
import JuiceMessages
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
    private var (timeout, decisionTimeout) = (Duration.zero, Duration.zero)
    /// Partitions where a topic has no leader, with its name, so that nothing can be said of them now.
    private var leaderless: [Int32: String] = [:]

    /// Nobody alive leaves a transaction undecided for longer than this and what the cluster takes to answer.
    private static let leastDecisionTimeout = Duration.milliseconds(200)

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
    ///   - share: what the worker reads of them.
    ///   - retention: how long answers are kept.
    ///   - now: the time of day.
    ///   - timeout: for each question to the cluster.
    func read(
        _ partitions: [Int32],
        of share: InputShare,
        retention: Timestamp,
        now: Timestamp,
        timeout: Duration
    ) throws(KafkaError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        self.timeout = timeout
        do throws(KafkaError) {
            // Of topics that it does not read the group's client would take a leader that went away for the leader for minutes.
            _ = try group.metadata(topics: topicNames, timeout: timeout)
            let places = places(of: partitions.filter { leaderless[$0] == nil }, share)
            let points = try points(of: places, retention, now: now)
            return (points, leaderless.filter { partitions.contains($0.key) })
        } catch {
            // One partition that cannot be asked about must not keep the others from being read.
            if error.remedy == .retry { try findLeaders(places(of: partitions, share)) }
            throw error
        }
    }

    private var topicNames: [String] { configuration.topics.inputs + configuration.topics.changelogs }

    private func findLeaders(_ places: Places) throws(KafkaError) {
        let topics = try logEnds.metadata(topics: topicNames, timeout: timeout).topics
        leaderless = [:]
        for topic in topics {
            for partition in topic.leaderless
            where places.all.contains(TopicPartition(topic: topic.name, partition: partition)) {
                leaderless[partition] = topic.name
            }
        }
    }

    private func points(
        of places: Places,
        _ retention: Timestamp,
        now: Timestamp
    ) throws(KafkaError) -> [RestorePoint] {
        let (inputs, changelogs) = (places.inputs, places.changelogs)
        let owners = try owners(of: inputs)
        // Asked again, now that it is connected: how long that takes says how long the group's consumer may.
        let start = ContinuousClock.now
        _ = try self.owners(of: inputs)
        decisionTimeout = Self.leastDecisionTimeout + (ContinuousClock.now - start) * 3

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
            : try horizons(places, committed, logs, now: now)
                .mapValues { $0.start(retention: retention) }
        let answers = try firstAnswers(places.results, since: starts, in: logs)

        func input(_ topic: InputTopic, _ number: Int32) throws(KafkaError) -> RestorePoint.Input? {
            let partition = TopicPartition(topic: configuration.topics[topic], partition: number)
            guard inputs.contains(partition) else { return nil }
            let log = try Self.watermarks(of: partition, in: logs)
            return .init(committed: committed[partition] ?? nil, log: log.low..<max(log.low, log.high))
        }
        var points: [RestorePoint] = []
        for number in places.partitions {
            let stock = TopicPartition(topic: configuration.topics.stock, partition: number)
            points.append(
                RestorePoint(
                    partition: number,
                    orders: try input(.orders, number),
                    restocks: try input(.restocks, number),
                    stockEnd: changelogs.contains(stock) ? try Self.watermarks(of: stock, in: logs).high : 0,
                    results: answers[number] ?? 0..<0
                )
            )
        }
        return points
    }

    /// Which partitions of the topics there are to ask about.
    private struct Places {
        let partitions: [Int32]
        /// What the worker reads.
        let inputs: [TopicPartition]
        /// Of partitions that stores live in; others have no state.
        let stock: [TopicPartition]
        let results: [TopicPartition]

        var changelogs: [TopicPartition] { stock + results }
        var all: [TopicPartition] { inputs + changelogs }
    }

    private func places(of partitions: [Int32], _ share: InputShare) -> Places {
        let homes = partitions.filter { $0 < partitionCount }
        return Places(
            partitions: partitions,
            inputs: InputTopic.allCases.flatMap { topic in
                self.partitions(partitions.filter { share.reads(topic, $0) }, of: configuration.topics[topic])
            },
            stock: self.partitions(homes, of: configuration.topics.stock),
            results: self.partitions(homes, of: configuration.topics.results)
        )
    }

    private func partitions(_ numbers: [Int32], of topic: String) -> [TopicPartition] {
        numbers.map { TopicPartition(topic: topic, partition: $0) }
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
    /// Who committed last for each input partition, of those at hand and of all that stores live in.
    ///
    /// - Throws: ``KafkaError`` when somebody counted other partitions: the stores would be split in two.
    private func owners(of inputs: [TopicPartition]) throws(KafkaError) -> [TopicPartition: CommitMetadata] {
        let all = configuration.topics.inputs.flatMap { partitions(Array(0..<partitionCount), of: $0) }
        let committed = try CommittedMetadata(of: Array(Set(all + inputs)), from: logEnds, timeout: timeout)
        guard committed.partitionCount ?? partitionCount == partitionCount else {
            throw KafkaError(
                code: .invalidPartitions,
                message:
                    "stores live in \(committed.partitionCount ?? 0) partitions, which this instance took to be"
                    + " \(partitionCount). Start it again"
            )
        }
        return committed.byPartition
    }

    private func committed(_ inputs: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Offset?] {
        do throws(KafkaError) {
            return try group.committed(inputs, timeout: decisionTimeout)
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
            if waited > decisionTimeout { endTransactions(of: suspects) }
            guard waited < decisionTimeout + timeout else {
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
        _ places: Places,
        _ committed: [TopicPartition: Offset?],
        _ logs: [TopicPartition: Watermarks],
        now: Timestamp
    ) throws(KafkaError) -> [Int32: AnswerHorizon] {
        var horizons = AnswerHorizons(
            of: places.results.map(\.partition),
            now: now,
            consumer: logEnds
        )
        for partition in places.results {
            horizons.lookAtAnswers(partition, in: try Self.watermarks(of: partition, in: logs))
        }
        for topic in InputTopic.allCases {
            for partition in places.inputs
            where partition.topic == configuration.topics[topic] && partition.partition < partitionCount {
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
        _ results: [TopicPartition],
        since times: [Int32: Timestamp]?,
        in logs: [TopicPartition: Watermarks]
    ) throws(KafkaError) -> [Int32: Range<Offset>] {
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
