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
final class LibrdkafkaPort: LogReader, KafkaPort {
    private let configuration: ServiceConfiguration
    private let hooks: ClientHooks
    private let partitions: TopicCheck.PartitionCounts
    private let watch: BrokerWatch
    private let metrics: WorkerMetrics?
    private let clocks: ClockWatch?

    /// Nil for an anchor.
    private let input: CommandConsumer?
    private let transactions: TransactionSession
    private var fence: ProducerFence?
    /// Whether the group's member is asked for its offsets, or a client that is no member.
    private var asksMember = true
    /// Since when a topic is missing.
    private var missingSince: ContinuousClock.Instant?

    /// Joins the consumer group, unless a share of the partitions is given.
    init(
        configuration: ServiceConfiguration, worker: Int, partitions: TopicCheck.PartitionCounts,
        assignment: InputAssignment? = nil, watch: BrokerWatch, metrics: WorkerMetrics? = nil, clocks: ClockWatch? = nil,
        logger: Logger
    ) throws(KafkaError) {
        (self.configuration, self.partitions, self.watch) = (configuration, partitions, watch)
        (self.metrics, self.clocks) = (metrics, clocks)
        let hooks = ClientHooks(logger: logger, logCeiling: .info)
        self.hooks = hooks
        transactions = TransactionSession(
            ids: { configuration.transactionalIDs(worker: worker, set: $0) }, setCount: ServiceConfiguration.producerSets,
            topics: Topic.allCases.map { (configuration.topics[$0], configuration.producerProperties(of: $0)) },
            inactivityTimeout: .seconds(2)
        ) { _ in (configuration.producer, hooks) }
        // An anchor may be there only to look, and then must not take the ids of another one that writes.
        if assignment == nil {
            transactions.prepare()
            input = try CommandConsumer(
                configuration: configuration, worker: worker, partitions: partitions, watch: watch,
                hooks: hooks)
        } else {
            input = nil
        }
        try super.init(
            configuration: configuration, assignment: assignment, timeout: AdaptiveTimeout(shortest: configuration.callTimeout),
            watch: watch, hooks: hooks)
    }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    override var closedConnections: Int { (input?.consumer ?? uncommitted).closedConnections }

    func leave() {
        metrics?.abandoned()
        transactions.drop()
        fence = nil
        input?.close()
    }

    // MARK: - Input

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        transactions.poll()
        serve()
        guard let input else { return .records([], ends: []) }
        let result = try input.poll(maxRecords: maxRecords, wait: wait)
        metrics?.measureLag { input.consumer.lastKnownEnd(of: topics[$0]) }
        switch result {
        case .records(let records, _):
            metrics?.polled(records)
            if let last = records.last { clocks?.compare(last, at: now) { input.headers(of: last) ?? [] } }
        case .assigned(let assigned):
            assignment = assigned
            // The takeover needs them in a moment, and a new client takes long to connect.
            transactions.prepare()
        case .revoked: assignment = nil
        case .damaged: break
        }
        return result
    }

    func headers(of record: CommandRecord) -> [MessageHeader]? { input?.headers(of: record) }

    func start(at positions: [InputPosition]) throws(LogError) {
        metrics?.abandoned()
        (fence, watermarks) = (nil, [:])
        try openChangelog([], isolation: .committed)
        try LogError.rethrowing { () throws(KafkaError) in
            try input?.start(at: Dictionary(uniqueKeysWithValues: positions.map { (topics[$0.input], $0.offset) }))
        }
        metrics?.published(positions.map { ($0.input, $0.offset) })
    }

    func publish(_ offsets: [InputPartition: GroupOffset]) {
        let (places, metadata) = topics.commits(offsets)
        input?.consumer.publish(places, metadata: metadata)
        metrics?.published(offsets.map { ($0, $1.offset) })
    }

    // MARK: - Taking over

    override func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        let start = now
        let metadata = try metadata()
        // Every topic counts, also the one that is only written to now and then: it may not be there when it is needed.
        if let missing = topics.all.first(where: { metadata[$0] == nil }) {
            let since = missingSince ?? .now
            missingSince = since
            let error = metadata.topics.first { $0.name == missing }?.error
            if let error, error.code.isDenial { throw LogError(error) }
            throw LogError(
                .now - since < Self.longestAbsence ? .retry : .stop, error?.description ?? "the topic \(missing) is gone")
        }
        missingSince = nil
        var found = try extents(of: partitions, in: metadata)
        for index in found.extents.indices {
            let extents = found.extents[index]
            for (log, end) in [(ChangelogTopic.stock, extents.stock.upperBound), (.results, extents.results.upperBound)]
            where transactions.takeLoss(of: topics[log.topic, extents.partition], endingAt: end) {
                found.extents[index].truncated.insert(log)
            }
        }
        clocks?.found(found.extents, at: start)
        return found
    }

    /// How long a topic may be missing. One that was recreated, or that a broker does not know yet, is there again by then.
    static let longestAbsence = Duration.seconds(30)

    override func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] {
        // A client that is no member does not look for another coordinator once its own is gone. But a member that reads committed
        // records waits for offsets in other programs' transactions (KIP-447). So each of the two is asked in turn.
        let consumer = asksMember ? input?.consumer : nil
        asksMember.toggle()
        let offsets = try groupOffsets(of: partitions, from: consumer ?? uncommitted)
        asksMember = true
        return offsets
    }

    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError) {
        guard let input else { return }
        let (places, metadata) = topics.commits(offsets)
        do throws(KafkaError) {
            try input.consumer.commit(places, metadata: metadata)
            watch.reached()
        } catch {
            if error.code.isHopeless { throw LogError(error) }
            // A stale member learns from its next poll that it must rejoin.
            throw LogError(error.remedy == .retry ? .retry : .startOver, error.description)
        }
    }

    func fence(_ ids: Set<String>) throws(LogError) -> Set<String> {
        let fence = fence ?? ProducerFence(configuration: configuration.producer, hooks: hooks)
        self.fence = fence
        let undecided = try LogError.rethrowing { () throws(KafkaError) in
            try fence.fence(ids, timeout: configuration.callTimeout)
        }
        transactions.discardPrepared(ids)
        self.fence = nil
        return undecided
    }

    override func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try super.openChangelog(positions, isolation: isolation)
        metrics?.restoring(remaining)
    }

    override func readChangelog() throws(LogError) -> ChangelogBatch {
        let batch = try super.readChangelog()
        metrics?.restoring(remaining)
        return batch
    }

    // MARK: - Transactions

    func initTransactions() throws(LogError) -> [String] {
        metrics?.abandoned()
        return try LogError.rethrowing { () throws(KafkaError) in
            try transactions.initTransactions(timeout: configuration.callTimeout)
        }
    }

    func begin() throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in try transactions.begin() }
        metrics?.began()
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        let partition = record.topic == .deadLetters ? record.partition % partitions.deadLetters : record.partition
        // Not in a closure, which would cost more than the rest of this call.
        do throws(KafkaError) {
            try transactions.produce(
                to: record.topic.rawValue, partition: partition, key: record.key, value: record.value,
                headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
                copying: record.original.flatMap { input?.headerList(at: $0) }, timestamp: record.timestamp)
        } catch { throw LogError(error, topics: topics) }
    }

    func flush() throws(LogError) {
        try LogError.rethrowing(topics: topics) { () throws(KafkaError) in
            try transactions.flush(timeout: configuration.callTimeout)
        }
    }

    func commit() throws(LogError) {
        try LogError.rethrowing(topics: topics) { () throws(KafkaError) in
            try transactions.commit(timeout: configuration.callTimeout)
        }
        watch.reached()
        metrics?.committed(at: now)
    }

    func writtenResults(of partition: Int32) -> [Range<Offset>] {
        transactions.deliveredRanges(of: topics[.results, partition])
    }
}

// MARK: - Between the engine and Kafka

extension LogError {
    /// - Parameter topics: those that were written to.
    init(_ error: KafkaError, topics: TopicNames? = nil) {
        let remedy: Remedy =
            switch error.remedy {
            case _ where error.code.isHopeless: .stop
            case .retry: .retry
            case .startOver: .startOver
            }
        let refusing = Topic.allCases.first { topics?[$0] == error.place?.topic }
        let subject: Subject =
            switch error.code {
            case _ where error.code.isRefusalOfRecord:
                if let refusing, let place = error.place { .record(refusing, partition: place.partition) } else { .call }
            case .transport: .connection
            case _ where error.code.exceededLimit != nil: .setting
            default: .call
            }
        self.init(remedy, error.description + error.code.neededRights + error.code.refusingSetting, subject: subject)
    }

    /// Calls a Kafka client and turns its errors into the engine's.
    static func rethrowing<Success>(
        topics: TopicNames? = nil, _ body: () throws(KafkaError) -> Success
    ) throws(LogError) -> Success {
        do throws(KafkaError) { return try body() } catch { throw LogError(error, topics: topics) }
    }
}

extension KafkaError.Code {
    /// The rights that the service needs, if one is missing; otherwise empty. librdkafka names the resource of a denied request at
    /// best, and never the right.
    var neededRights: String {
        let needs: String
        switch self {
        case .topicAuthorizationFailed:
            needs = "Read and Write on its topics (on dead letters only Write), DescribeConfigs, and Create with --create-topics"
        case .groupAuthorizationFailed: needs = "Read on its group"
        case .transactionalIDAuthorizationFailed: needs = "Write on transactional ids that begin with GROUP/"
        case .clusterAuthorizationFailed: needs = "no right on the cluster, unless it is to create topics"
        default: return ""
        }
        return "; the service needs \(needs): see docs/SECURITY.md"
    }

    /// The setting of a topic by which brokers refuse a record; otherwise empty.
    var refusingSetting: String {
        switch self {
        case .messageTooLarge, .recordListTooLarge: "; the topic's max.message.bytes is less"
        // What the service writes has the time of its clock.
        case .invalidTimestamp:
            "; the service's clock and the brokers' differ, or the topic's message.timestamp.before.max.ms or"
                + " message.timestamp.after.max.ms is too small: see docs/OPERATIONS.md#retention"
        case .invalidRecord: "; a record without a key needs the topic's cleanup.policy to be delete"
        default: ""
        }
    }
}

extension TopicNames {
    var prefix: String { String(orders.dropLast("orders".count)) }

    /// The topics that commands are read from.
    var inputs: [String] { InputTopic.allCases.map { self[$0.topic] } }

    subscript(topic: InputTopic) -> String { self[topic.topic] }

    func input(named name: String) -> InputTopic? { InputTopic.allCases.first { self[$0] == name } }

    subscript(topic: Topic, partition: Int32) -> TopicPartition { TopicPartition(topic: self[topic], partition: partition) }

    subscript(input: InputPartition) -> TopicPartition { self[input.topic.topic, input.partition] }

    /// Kafka's form of what a group commits.
    func commits(
        _ offsets: [InputPartition: GroupOffset]
    ) -> (offsets: [TopicPartition: Offset], metadata: [TopicPartition: String]) {
        let places = offsets.map { (self[$0.key], $0.value) }
        return (
            Dictionary(uniqueKeysWithValues: places.map { ($0, $1.offset) }),
            Dictionary(uniqueKeysWithValues: places.compactMap { place, offset in offset.mark.map { (place, $0.metadata) } })
        )
    }
}
