import Foundation
import JuiceEngine
import Kafka
import Logging

/// The engine's log on Kafka: a member of the consumer group and transactional producers.
///
/// It belongs to one worker thread. Where librdkafka honours its timeouts, a call waits for about a second at most, and each lookup
/// of a restore for up to eight. A call that takes longer ends with ``LogError/Remedy/retry``, and the same call resumes it.
final class KafkaCommandLog: CommandLog {
    let configuration: ServiceConfiguration
    let worker: Int
    let hooks: ClientHooks
    let topics: TopicPreparation.Ready
    private let watch: BrokerWatch
    private let metrics: WorkerMetrics?

    private(set) var input: CommandInput
    let transactions: TransactionSession
    /// Nil for a broker without transactional offsets.
    private let appliedOffsets: AppliedOffsets?
    var restorePointReader: RestorePointReader?
    var changelog: ChangelogReader?
    /// When the log last joined the group again without knowing why it was fenced.
    private var rejoinedAt: ContinuousClock.Instant?
    /// The offsets that the open transaction commits.
    private var sentOffsets: [TopicPartition: Offset] = [:]

    /// For calls that go on in the background and are resumed by the next attempt.
    private static let callTimeout = Duration.seconds(1)
    /// For the lookups of a restore, which begin again with each attempt.
    private(set) var lookupTimeout = AdaptiveTimeout()
    /// If the log is fenced twice within this time, another process uses its instance id.
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
        appliedOffsets =
            configuration.capabilities.storesTransactionalOffsets
            ? try AppliedOffsets(configuration: configuration.groupReader, hooks: hooks) : nil
        transactions = try TransactionSession(
            configuration: configuration,
            worker: worker,
            appliedOffsets: appliedOffsets,
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
        // Producers first: once the consumer has left the group, they must not commit anything in its name.
        transactions.drop()
        endRestore()
        input.close()
    }
}

// MARK: - Input

extension KafkaCommandLog {
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        transactions.poll()
        appliedOffsets?.poll()
        switch try input.poll(maxRecords: maxRecords, wait: wait) {
        case .success(let result):
            if case .revoked = result { endRestore() }
            return result
        case .failure(let error):
            return try rejoin(after: error)
        }
    }

    func headers(of record: CommandRecord) -> [RecordHeader] { input.headers(of: record) }

    func start(at positions: [InputPosition]) throws(LogError) {
        endRestore()
        appliedOffsets?.forget()
        try LogError.rethrowing { () throws(KafkaError) in try input.start(at: offsets(positions)) }
    }

    /// Joins the group again after the membership was lost for good.
    ///
    /// "Fenced" may mean that another process uses this instance's id. But if the session timed out because the coordinator was
    /// gone for too long, a member may be fenced by its own earlier membership, as often as brokers fail. If it is fenced twice
    /// without a session timeout, it has a rival.
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
        // The dead-letter topic may have fewer partitions than the inputs.
        let partition =
            record.topic == .deadLetters ? record.partition % topics.deadLetterPartitions : record.partition
        // Not in a closure, which would cost more than the rest of this call.
        do throws(KafkaError) {
            try transactions.produce(
                to: record.topic.rawValue,
                partition: partition,
                key: record.key,
                value: record.value,
                headers: record.headers,
                timestamp: record.timestamp
            )
        } catch {
            throw LogError(error)
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
        guard !configuration.capabilities.storesTransactionalOffsets, !sentOffsets.isEmpty else { return }
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

    /// Makes a call. If it times out, the next lookup may take longer.
    func waiting<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        try LogError.rethrowing { () throws(KafkaError) in
            do throws(KafkaError) {
                return try body()
            } catch {
                if error.code == .timedOut {
                    lookupTimeout.timedOut(closedConnections: input.consumer.closedConnections)
                }
                throw error
            }
        }
    }

    func answered() {
        lookupTimeout.answered(closedConnections: input.consumer.closedConnections)
        // A slow broker may never answer a probe in time, so every answer counts.
        watch.reached()
    }
}
