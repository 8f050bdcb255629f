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
    private let partitions: TopicCheck.PartitionCounts
    private let watch: BrokerWatch
    private let metrics: WorkerMetrics?
    private let clocks: ClockWatch?
    private let observer: TransactionObserver

    /// The member of the group, which is replaced when its membership is lost; nil for an anchor.
    private var input: CommandConsumer?
    /// What an anchor reads.
    private let assignment: InputAssignment?
    private let transactions: TransactionSession
    private let reader: LogReader
    private var fence: ProducerFence?
    /// Whether the group's member is asked for its offsets, or the reader.
    private var asksMember = true
    /// Since when a topic is missing.
    private var missingSince: ContinuousClock.Instant?
    /// When the log last joined the group again without knowing why it was fenced.
    private var rejoinedAt: ContinuousClock.Instant?

    /// For lookups, which begin again with each attempt. Other calls go on in the background and are resumed by the next attempt.
    private var lookupTimeout: AdaptiveTimeout
    /// If the log is fenced twice within this time, another process uses its instance id.
    private static let rivalWindow = Duration.seconds(60)

    /// Joins the consumer group, unless a share of the partitions is given.
    init(
        configuration: ServiceConfiguration, worker: Int, partitions: TopicCheck.PartitionCounts,
        assignment: InputAssignment? = nil,
        watch: BrokerWatch, metrics: WorkerMetrics? = nil, clocks: ClockWatch? = nil, logger: Logger
    ) throws(KafkaError) {
        (self.configuration, self.worker, self.partitions, self.assignment) = (configuration, worker, partitions, assignment)
        (self.watch, self.metrics, self.clocks) = (watch, metrics, clocks)
        lookupTimeout = AdaptiveTimeout(shortest: configuration.callTimeout)
        observer = TransactionObserver(metrics: metrics)
        let hooks = ClientHooks(logger: logger, logCeiling: .info)
        self.hooks = hooks
        transactions = TransactionSession(
            ids: { configuration.transactionalIDs(worker: worker, set: $0) }, setCount: ServiceConfiguration.producerSets,
            topics: Topic.allCases.map { (configuration.topics[$0], configuration.producerProperties(of: $0)) },
            inactivityTimeout: .seconds(2)
        ) { (configuration.producer, metrics?.measuring(hooks, producer: $0) ?? hooks) }
        reader = try LogReader(configuration: configuration, hooks: hooks)
        // An anchor may be there only to look, and then must not take the ids of another one that writes.
        guard assignment == nil else { return }
        transactions.prepare()
        input = try join()
    }

    private func join() throws(KafkaError) -> CommandConsumer {
        try CommandConsumer(
            configuration: configuration, worker: worker, partitions: partitions, watch: watch,
            hooks: metrics?.measuring(hooks) ?? hooks)
    }

    var now: Timestamp { Timestamp(Date().timeIntervalSince1970 * 1000) }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    func leave() {
        observer.abandoned()
        transactions.drop()
        fence = nil
        input?.close()
    }

    // MARK: - Input

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        transactions.poll()
        reader.poll()
        guard let input else { return .records([], ends: []) }
        let result: PollResult
        switch try input.poll(maxRecords: maxRecords, wait: wait) {
        case .success(let polled): result = polled
        case .failure(let error): return try rejoin(after: error)
        }
        switch result {
        case .records(let records, _):
            observer.polled(records)
            if let last = records.last { clocks?.compare(last, at: now) { input.headers(of: last) ?? [] } }
        // The takeover needs them in a moment, and a new client takes long to connect.
        case .assigned: transactions.prepare()
        case .damaged(let place, let reason):
            let partition = configuration.topics[place.topic.topic, place.partition]
            let last = Consumer.lastDamaged(
                of: partition, from: place.offset, timeout: .seconds(5), configuration: configuration.logEndConsumer, hooks: hooks)
            return .damaged(InputPosition(topic: place.topic, partition: place.partition, offset: last), reason)
        case .revoked: break
        }
        return result
    }

    func headers(of record: CommandRecord) -> [MessageHeader]? { input?.headers(of: record) }

    func start(at positions: [InputPosition]) throws(LogError) {
        observer.abandoned()
        fence = nil
        try LogError.rethrowing { () throws(KafkaError) in
            try reader.close()
            try input?.start(at: configuration.topics.offsets(positions))
        }
        metrics?.started(at: positions)
    }

    func publish(_ offsets: [InputPartition: GroupOffset]) {
        let (places, metadata) = configuration.topics.commits(offsets)
        input?.consumer.publish(places, metadata: metadata)
        metrics?.published(offsets.mapValues(\.offset))
    }

    func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) {
        try looking { timeout throws(KafkaError) in try reader.readBack(ranges, timeout: timeout) }
    }

    /// Joins the group again after the membership was lost for good.
    ///
    /// A member that was fenced has a rival of the same instance id, if that happens twice without a session timeout. After one,
    /// since the coordinator was gone for too long, it may be fenced by its own earlier membership, as often as brokers fail.
    private func rejoin(after error: KafkaError) throws(LogError) -> PollResult {
        guard error.code == .fencedInstanceID else { throw LogError(.stop, error.description) }
        if input?.consumer.sessionTimedOut ?? false {
            hooks.logger.notice("fenced by its former self after the session timed out; rejoining the group")
        } else {
            guard rejoinedAt.map({ .now - $0 > Self.rivalWindow }) ?? true else {
                throw LogError(
                    .stop,
                    "another process has joined the group \(configuration.group) as instance"
                        + " \"\(configuration.instanceID)\"; give each its own --instance-id")
            }
            hooks.logger.notice("fenced by another member of the same id; rejoining the group")
            rejoinedAt = .now
        }
        do throws(KafkaError) { input = try join() } catch { throw LogError(.stop, error.description) }
        return .revoked
    }

    // MARK: - Taking over

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        guard let assignment = assignment ?? input?.assignment else { throw LogError(.startOver, "the partitions were given up") }
        let start = now
        let uncommitted = reader.uncommitted
        let metadata = try looking { timeout throws(KafkaError) in
            try uncommitted.metadata(topics: configuration.topics.all, timeout: timeout)
        }
        try checkForMissing(in: metadata)
        var found = try looking { timeout throws(KafkaError) in
            try reader.extents(
                of: partitions, in: metadata, assignment: assignment, closedConnections: closedConnections, timeout: timeout)
        }
        for index in found.extents.indices { found.extents[index].truncated = truncated(in: found.extents[index]) }
        metrics?.found(found.extents)
        clocks?.found(found.extents, at: start)
        return found
    }

    func openTransactions(in extents: [PartitionExtents]) throws(LogError) -> [ChangelogPosition] {
        try looking { timeout throws(KafkaError) in try reader.openTransactions(in: extents, timeout: timeout) }
    }

    /// How long a topic may be missing. One that was recreated, or that a broker does not know yet, is there again by then.
    static let longestAbsence = Duration.seconds(30)

    /// Every topic counts, also the one that is only written to now and then: it may not be there when it is needed.
    ///
    /// - Throws: ``LogError``: to try again, or to stop once a topic has been missing for long.
    private func checkForMissing(in metadata: ClusterMetadata) throws(LogError) {
        guard let missing = configuration.topics.all.first(where: { metadata[$0] == nil }) else { return missingSince = nil }
        let since = missingSince ?? .now
        missingSince = since
        let error = metadata.topics.first { $0.name == missing }?.error
        if let error, error.code.isDenial { throw LogError(error) }
        throw LogError(
            .now - since < Self.longestAbsence ? .retry : .stop, error?.description ?? "the topic \(missing) is gone")
    }

    private func truncated(in extents: PartitionExtents) -> Set<ChangelogTopic> {
        Set(
            ChangelogTopic.allCases.filter { topic in
                let end = topic == .stock ? extents.stock.upperBound : extents.results.upperBound
                return transactions.takeLoss(of: configuration.topics[topic.topic, extents.partition], endingAt: end)
            })
    }

    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] {
        // A client that is no member does not look for another coordinator once its own is gone. But a member that reads committed
        // records waits for offsets in other programs' transactions. So each of the two is asked in turn.
        let consumer = asksMember ? input?.consumer : nil
        asksMember.toggle()
        let offsets = try looking { timeout throws(KafkaError) in
            try (consumer ?? reader.uncommitted).groupOffsets(of: partitions, in: configuration.topics, timeout: timeout)
        }
        asksMember = true
        return offsets
    }

    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError) {
        guard let input else { return }
        let (places, metadata) = configuration.topics.commits(offsets)
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

    func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], retention: Timestamp
    ) throws(LogError) -> [Int32: AnswerReach] {
        guard let assignment = assignment ?? input?.assignment else { throw LogError(.startOver, "the partitions were given up") }
        return try looking { timeout throws(KafkaError) in
            try reader.answerReaches(
                at: positions, handledAt: handledAt, retention: retention, of: assignment, now: now, timeout: timeout)
        }
    }

    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in try reader.open(positions, isolation: isolation) }
        metrics?.opened(positions)
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        let batch = try LogError.rethrowing { () throws(KafkaError) in try reader.read(timeout: .milliseconds(100)) }
        metrics?.read(batch)
        return batch
    }

    // MARK: - Transactions

    func initTransactions() throws(LogError) -> [String] {
        observer.abandoned()
        return try LogError.rethrowing { () throws(KafkaError) in
            try transactions.initTransactions(timeout: configuration.callTimeout)
        }
    }

    func begin() throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in try transactions.begin() }
        observer.began()
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        let partition = record.topic == .deadLetters ? record.partition % partitions.deadLetters : record.partition
        // Not in a closure, which would cost more than the rest of this call.
        do throws(KafkaError) {
            try transactions.produce(
                to: record.topic.rawValue, partition: partition, key: record.key, value: record.value,
                headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
                copying: record.original.flatMap { input?.headerList(at: $0) }, timestamp: record.timestamp)
        } catch { throw LogError(error, topics: configuration.topics) }
    }

    func flush() throws(LogError) {
        try LogError.rethrowing(topics: configuration.topics) { () throws(KafkaError) in
            try transactions.flush(timeout: configuration.callTimeout)
        }
    }

    func commit() throws(LogError) {
        try LogError.rethrowing(topics: configuration.topics) { () throws(KafkaError) in
            try transactions.commit(timeout: configuration.callTimeout)
        }
        watch.reached()
        observer.committed(at: now)
    }

    func writtenResults(of partition: Int32) -> [Range<Offset>] {
        transactions.deliveredRanges(of: configuration.topics[.results, partition])
    }

    // MARK: - Calls

    /// Makes a lookup. If it times out, the next one may take longer.
    private func looking<Success>(_ body: (_ timeout: Duration) throws(KafkaError) -> Success) throws(LogError) -> Success {
        do throws(KafkaError) {
            let result = try lookupTimeout.waiting(closedConnections: closedConnections, body)
            // A slow broker may never answer a probe in time, so every answer counts.
            watch.reached()
            return result
        } catch { throw LogError(error) }
    }

    private var closedConnections: Int { (input?.consumer ?? reader.uncommitted).closedConnections }
}

/// How long to wait for a call that librdkafka cannot resume. Each attempt waits longer than the one before, since a slow broker
/// would answer each too late.
struct AdaptiveTimeout {
    private(set) var current: Duration
    private let shortest: Duration
    /// How many connections the client had lost when it last got an answer.
    private var closedConnections = 0

    private static let longest = Duration.seconds(8)
    /// Once a connection broke, the broker may be dead, and its successor has to be asked instead.
    private static let longestAfterLoss = Duration.seconds(2)

    init(shortest: Duration = .seconds(1)) { (current, self.shortest) = (shortest, shortest) }

    /// Makes a call that may take ``current``. The next one will take about as long.
    ///
    /// - Parameter closedConnections: how many connections the client has lost since it was made, asked for after the call; 0 where
    ///   that makes no difference.
    mutating func waiting<Success>(
        closedConnections: @autoclosure () -> Int = 0, _ call: (_ timeout: Duration) throws(KafkaError) -> Success
    ) throws(KafkaError) -> Success {
        let start = ContinuousClock.now
        do throws(KafkaError) {
            let result = try call(current)
            answered(after: .now - start, closedConnections: closedConnections())
            return result
        } catch {
            if error.code == .timedOut { timedOut(closedConnections: closedConnections()) }
            throw error
        }
    }

    mutating func timedOut(closedConnections: Int = 0) {
        let isLost = closedConnections != self.closedConnections
        current = min(current * 2, isLost ? Self.longestAfterLoss : Self.longest)
    }

    mutating func answered(after time: Duration, closedConnections: Int = 0) {
        current = max(shortest, min(current, time * 2))
        self.closedConnections = closedConnections
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

    /// Kafka's form of positions in the inputs.
    func offsets(_ positions: [InputPosition]) -> [TopicPartition: Offset] {
        Dictionary(uniqueKeysWithValues: positions.map { (self[$0.topic.topic, $0.partition], $0.offset) })
    }
}

extension Consumer {
    /// What the group has committed for inputs; only those that there are.
    func groupOffsets(
        of partitions: [InputPartition], in topics: TopicNames, timeout: Duration
    ) throws(KafkaError) -> [InputPartition: GroupOffset] {
        let (offsets, metadata) = try committedWithMetadata(partitions.map { topics[$0] }, timeout: timeout)
        return partitions.reduce(into: [:]) { committed, input in
            let place = topics[input]
            guard let offset = offsets[place] ?? nil else { return }
            committed[input] = GroupOffset(offset: offset, mark: metadata[place].flatMap(JournalMark.init))
        }
    }
}
