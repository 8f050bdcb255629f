import Foundation
import JuiceEngine
import Kafka
import Logging

/// The engine's log on Kafka: a membership of the consumer group and two transactional producers.
///
/// It belongs to one worker thread. Calls wait for at most a second or so where librdkafka heeds its timeouts; what takes
/// longer ends with ``LogError/Remedy/retry`` and is resumed by the same call.
final class KafkaCommandLog: CommandLog {
    private let configuration: ServiceConfiguration
    private let worker: Int
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private let metrics: WorkerMetrics?
    private let topics: TopicPreparation.Ready

    private var input: CommandInput
    /// When the group was last joined anew for no reason that is known.
    private var rejoinedAt: ContinuousClock.Instant?
    private let transactions: TransactionSession
    private var restorePointReader: RestorePointReader?
    private var changelog: ChangelogReader?
    /// What the open transaction commits; the embedded broker has to be told twice.
    private var sentOffsets: [TopicPartition: Offset] = [:]

    /// For calls that go on in the background and are resumed when made again.
    private static let callTimeout = Duration.seconds(1)
    /// For the queries of a restore, which begin anew with each attempt.
    private var lookupTimeout = AdaptiveTimeout()
    /// How many connections the group's client had lost when a call last had its answer.
    private var closedConnections = 0
    /// Being fenced twice within this time is another process's doing.
    private static let rivalWindow = Duration.seconds(60)

    /// Joins the consumer group.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        topics: TopicPreparation.Ready,
        watch: BrokerWatch,
        metrics: WorkerMetrics?,
        logger: Logger
    ) throws(KafkaError) {
        self.configuration = configuration
        self.worker = worker
        self.watch = watch
        self.topics = topics
        self.metrics = metrics
        hooks = ClientHooks(logger: logger, logCeiling: .info)
        transactions = try TransactionSession(
            configuration: configuration,
            worker: worker,
            hooks: hooks,
            metrics: metrics
        )
        input = try CommandInput(
            configuration: configuration,
            worker: worker,
            topics: topics,
            watch: watch,
            hooks: hooks.reporting(.consumer, to: metrics)
        )
    }

    var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    func leave() {
        // Producers first: a consumer that has left can no longer be the reason for anything they commit.
        transactions.drop()
        endRestore()
        input.close()
    }
}

// MARK: - Input

extension KafkaCommandLog {
    func poll(maxRecords: Int, wait: Bool) throws(LogError) -> PollResult {
        transactions.poll()
        switch try input.poll(maxRecords: maxRecords, wait: wait) {
        case .success(let result):
            if case .revoked = result { endRestore() }
            return result
        case .failure(let error):
            return try rejoin(after: error)
        }
    }

    func start(at positions: [InputPosition]) throws(LogError) {
        endRestore()
        try LogError.rethrowing { () throws(KafkaError) in try input.start(at: offsets(positions)) }
    }

    /// Joins the group anew after a membership is beyond recovery.
    ///
    /// "Fenced" may mean that another process took over this instance's id. But a member whose session timed out, since the
    /// coordinator was gone for as long, may be fenced by its own former self, and that as often as brokers fail. Whoever is
    /// fenced without that has a rival, if it happens twice.
    private func rejoin(after error: KafkaError) throws(LogError) -> PollResult {
        guard error.code == .fencedInstanceID else { throw LogError(.stop, error.description) }
        if input.consumer.sessionTimedOut {
            hooks.logger.notice(
                "fenced by its former self after the session timed out; joining the group anew"
            )
        } else {
            guard rejoinedAt.map({ .now - $0 > Self.rivalWindow }) ?? true else {
                throw LogError(
                    .stop,
                    "another process has joined the group \(configuration.group) as instance"
                        + " \"\(configuration.instanceID)\"; give each its own --instance-id"
                )
            }
            hooks.logger.notice("fenced by another member of the same id; joining the group anew")
            rejoinedAt = .now
        }
        endRestore()
        do throws(KafkaError) {
            input = try CommandInput(
                configuration: configuration,
                worker: worker,
                topics: topics,
                watch: watch,
                hooks: hooks.reporting(.consumer, to: metrics)
            )
        } catch {
            throw LogError(.stop, error.description)
        }
        return .revoked
    }

    private func offsets(_ positions: [InputPosition]) -> [TopicPartition: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (TopicPartition(topic: configuration.topics[$0.topic], partition: $0.partition), $0.offset)
            }
        )
    }
}

// MARK: - Restoring

extension KafkaCommandLog {
    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        guard let share = input.share else { throw LogError(.startOver, "the partitions were given up") }
        let found = try waiting { () throws(KafkaError) in
            let reader =
                if let restorePointReader {
                    restorePointReader
                } else {
                    try RestorePointReader(
                        configuration: configuration,
                        worker: worker,
                        ownIDs: transactions.transactionalIDs,
                        partitionCount: topics.partitionCount,
                        group: input.consumer,
                        hooks: hooks
                    )
                }
            restorePointReader = reader
            return try reader.read(
                partitions,
                of: share,
                retention: retention,
                now: now,
                timeout: lookupTimeout.current
            )
        }
        restorePointReader = nil
        answered()
        return found
    }

    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in
            changelog = try ChangelogReader(positions: positions, configuration: configuration, hooks: hooks)
        }
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        guard let changelog else { throw LogError(.startOver, "the changelog is not open") }
        return try LogError.rethrowing { () throws(KafkaError) in
            try changelog.read(timeout: .milliseconds(100))
        }
    }

    private func endRestore() {
        restorePointReader = nil
        changelog = nil
    }
}

// MARK: - Transactions

extension KafkaCommandLog {
    func initTransactions() throws(LogError) {
        try call { () throws(KafkaError) in try transactions.initTransactions(timeout: Self.callTimeout) }
    }

    func begin() throws(LogError) {
        sentOffsets = [:]
        try call { () throws(KafkaError) in try transactions.begin(timeout: Self.callTimeout) }
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        // The dead letters may have fewer partitions than the commands.
        let partition =
            record.topic == .deadLetters ? record.partition % topics.deadLetterPartitions : record.partition
        try call { () throws(KafkaError) in
            try transactions.produce(
                to: record.topic.rawValue,
                partition: partition,
                key: record.key,
                value: record.value,
                headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
                timestamp: record.timestamp
            )
        }
    }

    func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        guard let membership = input.membership else {
            throw LogError(.startOver, "the partitions were given up")
        }
        sentOffsets = offsets(positions)
        let metadata = CommitMetadata(
            owner: configuration.ownerName(worker: worker),
            transactionalIDs: transactions.transactionalIDs,
            partitionCount: topics.partitionCount
        )
        try call { () throws(KafkaError) in
            try transactions.sendOffsets(
                sentOffsets,
                metadata: metadata.text,
                membership: membership,
                timeout: Self.callTimeout
            )
        }
    }

    func commit() throws(LogError) {
        try call { () throws(KafkaError) in try transactions.commit(timeout: Self.callTimeout) }
        answered()
        guard configuration.isEmbedded, !sentOffsets.isEmpty else { return }
        do throws(KafkaError) {
            try input.consumer.commit(sentOffsets)
        } catch {
            hooks.logger.warning("the embedded broker did not keep the offsets: \(error)")
        }
    }

    private func call(_ body: () throws(KafkaError) -> Void) throws(LogError) {
        do throws(LogError) {
            try waiting(body)
        } catch {
            if error.remedy == .retry { watch.probe(input.consumer) }
            throw error
        }
    }

    /// Waits longer the next time for what took too long.
    private func waiting<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        try LogError.rethrowing { () throws(KafkaError) in
            do throws(KafkaError) {
                return try body()
            } catch {
                if error.code == .timedOut {
                    lookupTimeout.timedOut(
                        isConnectionLost: input.consumer.closedConnections != closedConnections
                    )
                }
                throw error
            }
        }
    }

    private func answered() {
        lookupTimeout.answered()
        closedConnections = input.consumer.closedConnections
        // A slow broker may never answer a probe in time.
        watch.reached()
    }
}
