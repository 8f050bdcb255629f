import JuiceEngine
import JuiceMessages
import Kafka

/// Finds out where partitions stand: what is committed, and where their logs begin and truly end.
///
/// It is kept until it succeeds, so that an attempt reuses the connection of the one before.
final class RestorePointReader {
    private let configuration: ServiceConfiguration
    private let partitionCount: Int32
    private let group: Consumer
    /// Sees past undecided transactions, unlike the group's consumer.
    private let logEnds: Consumer
    private var undecided: UndecidedTransactions
    /// How long to wait for each answer of the cluster.
    private var timeout = Duration.zero
    /// Partitions that cannot be asked about now, with the topic that has no leader there.
    private var leaderless: [Int32: String] = [:]

    /// - Parameters:
    ///   - worker: the worker that restores.
    ///   - ownIDs: its transactional ids.
    ///   - partitionCount: the number of partitions that stores live in.
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
        undecided = UndecidedTransactions(
            configuration: configuration,
            worker: worker,
            ownIDs: ownIDs,
            partitionCount: partitionCount,
            group: group,
            logEnds: logEnds,
            hooks: hooks
        )
    }

    deinit { logEnds.close() }

    /// - Parameters:
    ///   - share: what the worker reads of these partitions.
    ///   - retention: how long answers are remembered, in milliseconds.
    ///   - now: the time of day.
    ///   - timeout: how long to wait for each answer of the cluster.
    /// - Returns: the points, and the partitions that cannot be asked about now, with the topic that has no leader there.
    func read(
        _ partitions: [Int32],
        of share: InputShare,
        retention: Timestamp,
        now: Timestamp,
        timeout: Duration
    ) throws(KafkaError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        self.timeout = timeout
        func places(_ partitions: [Int32]) -> RestorePlaces {
            RestorePlaces(partitions, of: share, partitionCount: partitionCount, topics: configuration.topics)
        }
        do throws(KafkaError) {
            logEnds.connect()
            // For topics it does not read, the group's client would take a leader that went away for the leader for minutes.
            _ = try group.metadata(topics: topicNames, timeout: timeout)
            let points = try points(of: places(partitions.filter { leaderless[$0] == nil }), retention, now)
            return (points, leaderless.filter { partitions.contains($0.key) })
        } catch {
            // A partition that cannot be asked about must not keep the worker from reading the others.
            if error.remedy == .retry { try findLeaderless(in: places(partitions)) }
            throw error
        }
    }

    private var topicNames: [String] { configuration.topics.inputs + configuration.topics.changelogs }

    private func findLeaderless(in places: RestorePlaces) throws(KafkaError) {
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
        of places: RestorePlaces,
        _ retention: Timestamp,
        _ now: Timestamp
    ) throws(KafkaError) -> [RestorePoint] {
        let (inputs, changelogs) = (places.inputs, places.changelogs)
        let committed = try undecided.committedOffsets(of: inputs, timeout: timeout)
        // After the committed offsets: whatever those cover was written to the changelogs before.
        let logs = try logEnds.watermarks(of: inputs + changelogs, timeout: timeout)
        try undecided.waitUntilDecided(changelogs, in: logs, timeout: timeout)
        // A broker that does not support stable offset fetches returns the offsets from before an undecided transaction.
        guard try group.committed(inputs, timeout: timeout) == committed else {
            throw KafkaError(
                code: .state,
                message: "somebody else's transaction was just committed",
                isRetriable: true
            )
        }
        // A broker that cannot look up times trims its logs soon anyway.
        let starts =
            configuration.capabilities.findsOffsetsByTime
            ? try horizons(places, committed, logs, now: now).mapValues { $0.start(retention: retention) }
            : nil
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

// MARK: - Answers to read

extension RestorePointReader {
    private func horizons(
        _ places: RestorePlaces,
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

    /// - Parameter times: the time from which each partition's answers are wanted; nil for all of them.
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
            // If no record is that recent, there is no answer to read.
            let start = first[partition] ?? (times == nil ? log.low : log.high)
            ranges[partition.partition] = min(start, log.high)..<log.high
        }
        return ranges
    }
}
