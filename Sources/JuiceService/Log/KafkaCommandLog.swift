import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// The engine's log on Kafka: a member of the consumer group, transactional producers, and readers of logs. One for an anchor is no
/// member, and reads no commands.
///
/// It belongs to one worker thread. Where librdkafka honours its timeouts, a call waits for about a second at most, and each lookup
/// of a takeover for up to eight. A call that takes longer ends with ``LogError/Remedy/retry``, and the same call resumes it.
final class KafkaCommandLog: CommandLog {
    private let configuration: ServiceConfiguration
    private let worker: Int
    private let hooks: ClientHooks
    private let topics: TopicPreparation.Ready
    private let watch: BrokerWatch
    private let metrics: WorkerMetrics?

    /// Nil without a membership.
    private var input: CommandInput?
    private let share: InputShare?
    private let transactions: TransactionSession
    private let reader: LogReader
    private var logs: LogExtents
    private var fence: ProducerFence?
    /// When the log last joined the group again without knowing why it was fenced.
    private var rejoinedAt: ContinuousClock.Instant?

    /// For calls that go on in the background and are resumed by the next attempt.
    private static let callTimeout = Duration.seconds(1)
    /// For lookups, which begin again with each attempt.
    private var lookupTimeout = AdaptiveTimeout()
    /// If the log is fenced twice within this time, another process uses its instance id.
    private static let rivalWindow = Duration.seconds(60)

    /// Joins the consumer group, unless a share of the partitions is given.
    init(
        configuration: ServiceConfiguration, worker: Int, topics: TopicPreparation.Ready, share: InputShare? = nil,
        watch: BrokerWatch, metrics: WorkerMetrics?, logger: Logger
    ) throws(KafkaError) {
        self.share = share
        self.configuration = configuration
        self.worker = worker
        self.watch = watch
        self.topics = topics
        self.metrics = metrics
        let hooks = ClientHooks(logger: logger, logCeiling: .info)
        self.hooks = hooks
        transactions = TransactionSession(
            ids: { configuration.transactionalIDs(worker: worker, set: $0) }, setCount: ServiceConfiguration.producerSets,
            topics: Topic.allCases.map { topic in
                // A record that arrived compressed may be too large to forward uncompressed.
                let isHandedOn = topic != .results && topic != .stock
                return (configuration.topics[topic], isHandedOn ? ["compression.type": "zstd"] : [:])
            },
            inactivityTimeout: .seconds(2)
        ) { (configuration.producer, hooks.reporting(.producer(index: $0), to: metrics)) }
        transactions.prepare()
        reader = try LogReader(configuration: configuration, hooks: hooks)
        logs = LogExtents(configuration: configuration, consumer: reader.uncommitted)
        if share == nil { input = try join() }
    }

    private func join() throws(KafkaError) -> CommandInput {
        try CommandInput(
            configuration: configuration, worker: worker, topics: topics, watch: watch,
            hooks: hooks.reporting(.consumer, to: metrics))
    }

    var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    func leave() {
        transactions.drop()
        fence = nil
        input?.close()
    }
}

// MARK: - Input

extension KafkaCommandLog {
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        transactions.poll()
        reader.poll()
        guard let input else { return .records([], ends: []) }
        switch try input.poll(maxRecords: maxRecords, wait: wait) {
        case .success(.assigned(let share)):
            // The takeover needs them in a moment, and a new client takes long to connect.
            transactions.prepare()
            return .assigned(share)
        case .success(.damaged(let place, let reason)):
            let partition = TopicPartition(topic: configuration.topics[place.topic], partition: place.partition)
            let last = reader.lastDamaged(of: partition, from: place.offset, timeout: .seconds(5))
            return .damaged(InputPosition(topic: place.topic, partition: place.partition, offset: last), reason)
        case .success(let result): return result
        case .failure(let error): return try rejoin(after: error)
        }
    }

    func headers(of record: CommandRecord) -> [MessageHeader] { input?.headers(of: record) ?? [] }

    func start(at positions: [InputPosition]) throws(LogError) {
        fence = nil
        try LogError.rethrowing { () throws(KafkaError) in
            try reader.close()
            try input?.start(at: offsets(positions))
        }
    }

    func publish(_ positions: [InputPosition]) { input?.consumer.publish(offsets(positions)) }

    func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) {
        try looking { () throws(KafkaError) in try reader.readBack(ranges, timeout: lookupTimeout.current) }
    }

    /// Joins the group again after the membership was lost for good.
    ///
    /// "Fenced" may mean that another process uses this instance's id. But if the session timed out because the coordinator was
    /// gone for too long, a member may be fenced by its own earlier membership, as often as brokers fail. If it is fenced twice
    /// without a session timeout, it has a rival.
    private func rejoin(after error: KafkaError) throws(LogError) -> PollResult {
        guard error.code == .fencedInstanceID else { throw LogError(.stop, error.description) }
        if input?.consumer.sessionTimedOut ?? false {
            hooks.logger.notice("fenced by its former self after the session timed out; joining the group anew")
        } else {
            guard rejoinedAt.map({ .now - $0 > Self.rivalWindow }) ?? true else {
                throw LogError(
                    .stop,
                    "another process has joined the group \(configuration.group) as instance"
                        + " \"\(configuration.instanceID)\"; give each its own --instance-id")
            }
            hooks.logger.notice("fenced by another member of the same id; joining the group anew")
            rejoinedAt = .now
        }
        do throws(KafkaError) { input = try join() } catch { throw LogError(.stop, error.description) }
        return .revoked
    }

    private func offsets(_ positions: [InputPosition]) -> [TopicPartition: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (TopicPartition(topic: configuration.topics[$0.topic], partition: $0.partition), $0.offset)
            })
    }
}

// MARK: - Taking over

extension KafkaCommandLog {
    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        guard let share = share ?? input?.share else { throw LogError(.startOver, "the partitions were given up") }
        let start = ContinuousClock.now
        do throws(LogError) {
            var found = try logs.read(partitions, of: share, closedConnections: closedConnections, timeout: lookupTimeout.current)
            for index in found.extents.indices { found.extents[index].rewound = rewound(in: found.extents[index]) }
            answered(after: .now - start)
            return found
        } catch {
            if error.remedy == .retry { timedOut() }
            throw error
        }
    }

    private func rewound(in extents: PartitionExtents) -> Set<ChangelogTopic> {
        let ends = [ChangelogTopic.results: extents.results.upperBound, .stock: extents.stock.upperBound]
        return Set(
            ends.filter { topic, end in
                let place = TopicPartition(topic: configuration.topics[topic.topic], partition: extents.partition)
                return transactions.takeLoss(of: place, endingAt: end)
            }.keys)
    }

    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: Offset] {
        let places = partitions.map { TopicPartition(topic: configuration.topics[$0.topic], partition: $0.partition) }
        let committed = try looking { () throws(KafkaError) in
            try reader.uncommitted.committed(places, timeout: lookupTimeout.current)
        }
        return zip(partitions, places).reduce(into: [:]) { $0[$1.0] = committed[$1.1] ?? nil }
    }

    func confirmMembership(_ positions: [InputPosition]) throws(LogError) {
        guard let input else { return }
        do throws(KafkaError) {
            try input.consumer.commit(offsets(positions))
            watch.reached()
        } catch {
            if error.code.isHopeless { throw LogError(error) }
            // A stale member is told to join anew by its next poll.
            throw LogError(error.remedy == .retry ? .retry : .startOver, error.description)
        }
    }

    func fence(_ ids: Set<String>) throws(LogError) -> Set<String> {
        let fence = fence ?? ProducerFence(configuration: configuration.producer, hooks: hooks)
        self.fence = fence
        let undecided = try call { () throws(KafkaError) in try fence.fence(ids, timeout: Self.callTimeout) }
        transactions.discardPrepared(ids)
        self.fence = nil
        return undecided
    }

    func answerStarts(at positions: [InputPosition], retention: Timestamp) throws(LogError) -> [Int32: Offset] {
        try looking { () throws(KafkaError) in
            try logs.answerStarts(at: positions, retention: retention, now: now, timeout: lookupTimeout.current)
        }
    }

    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in try reader.open(positions, isolation: isolation) }
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        try LogError.rethrowing { () throws(KafkaError) in try reader.read(timeout: .milliseconds(100)) }
    }
}

// MARK: - Transactions

extension KafkaCommandLog {
    func initTransactions() throws(LogError) -> [String] {
        try call { () throws(KafkaError) in try transactions.initTransactions(timeout: Self.callTimeout) }
    }

    func begin() throws(LogError) { try call { () throws(KafkaError) in try transactions.begin() } }

    func produce(_ record: OutputRecord) throws(LogError) {
        // The dead-letter topic may have fewer partitions than the inputs.
        let partition = record.topic == .deadLetters ? record.partition % topics.deadLetterPartitions : record.partition
        // Not in a closure, which would cost more than the rest of this call.
        do throws(KafkaError) {
            try transactions.produce(
                to: record.topic.rawValue, partition: partition, key: record.key, value: record.value,
                headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
                timestamp: record.timestamp)
        } catch { throw LogError(error) }
    }

    func flush() throws(LogError) {
        try call { () throws(KafkaError) in try transactions.flush(timeout: Self.callTimeout) }
    }

    func commit() throws(LogError) {
        try call { () throws(KafkaError) in try transactions.commit(timeout: Self.callTimeout) }
        watch.reached()
    }

    func writtenResults(of partition: Int32) -> [Range<Offset>] {
        transactions.writtenRanges(of: TopicPartition(topic: configuration.topics.results, partition: partition))
    }

    func writtenStockEnd(of partition: Int32) -> Offset {
        transactions.writtenEnd(of: TopicPartition(topic: configuration.topics.stock, partition: partition)) ?? 0
    }

    private func call<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        do throws(LogError) {
            return try LogError.rethrowing(body)
        } catch {
            if error.remedy == .retry { watch.probe(input?.consumer ?? reader.uncommitted) }
            throw error
        }
    }

    /// Makes a lookup. If it times out, the next one may take longer.
    private func looking<Success>(_ body: () throws(KafkaError) -> Success) throws(LogError) -> Success {
        let start = ContinuousClock.now
        return try LogError.rethrowing { () throws(KafkaError) in
            do throws(KafkaError) {
                let result = try body()
                answered(after: .now - start)
                return result
            } catch {
                if error.code == .timedOut { timedOut() }
                throw error
            }
        }
    }

    private var closedConnections: Int { (input?.consumer ?? reader.uncommitted).closedConnections }

    private func timedOut() { lookupTimeout.timedOut(closedConnections: closedConnections) }

    private func answered(after time: Duration) {
        lookupTimeout.answered(after: time, closedConnections: closedConnections)
        // A slow broker may never answer a probe in time, so every answer counts.
        watch.reached()
    }
}
