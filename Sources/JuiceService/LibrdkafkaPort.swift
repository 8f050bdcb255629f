import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// The engine's port to Kafka: a member of the consumer group, transactional producers, and readers of logs. An anchor's port is no
/// member, and reads no commands.
///
/// It belongs to one worker thread. Where librdkafka honours its timeouts, a call waits for about a second at most, and each lookup
/// of a takeover for up to eight. A call that takes longer ends with ``LogError/Remedy/retry``, and the same call resumes it.
final class LibrdkafkaPort: LogReader, KafkaPort {
    private let worker: Int
    /// How many partitions hold stores, and how many the dead letters have, perhaps fewer.
    private let storePartitions, deadLetterPartitions: Int32
    private let metrics: WorkerMetrics?
    private let clocks: ClockWatch?

    private let transactions: TransactionSession
    private var fence: ProducerFence?
    /// Since when a needed topic is missing.
    private var missingSince: ContinuousClock.Instant?

    /// The member of the group; nil for an anchor. After a membership is lost for good, a new member takes its place.
    private var member: PartitionReader?
    /// What the group has assigned, until the topics' partition counts are known.
    private var given: [TopicPartition]?
    private var ordersShare = OrdersShare()
    /// How long to wait for the topics' partition counts.
    private var metadataTimeout = AdaptiveTimeout()
    /// When each of the group's errors last occurred, by code.
    private var errors: [KafkaError.Code: ContinuousClock.Instant] = [:]
    /// When it last joined again without knowing why it was fenced.
    private var rejoinedAt: ContinuousClock.Instant?
    /// The commands that were polled last; kept to reuse their memory.
    private var spareCommands: [CommandRecord] = []

    /// An error that recurs after this long is logged again.
    private static let errorLogInterval = Duration.seconds(60)
    /// If the member is fenced twice within this time, another process uses its instance id.
    private static let fencingWindow = Duration.seconds(60)
    /// How long a topic may be missing. One that was recreated, or that a broker does not know yet, is there again by then.
    private static let longestAbsence = Duration.seconds(30)

    /// Joins the consumer group, unless an assignment is given.
    init(
        configuration: ServiceConfiguration, worker: Int, storePartitions: Int32, deadLetterPartitions: Int32 = 1,
        assignment: InputAssignment? = nil, watch: BrokerWatch, metrics: WorkerMetrics? = nil, clocks: ClockWatch? = nil,
        logger: Logger
    ) throws(KafkaError) {
        self.worker = worker
        (self.storePartitions, self.deadLetterPartitions) = (storePartitions, deadLetterPartitions)
        (self.metrics, self.clocks) = (metrics, clocks)
        let hooks = ClientHooks(logger: logger, logCeiling: .info) { watch.noticedClosing($0) }
        transactions = TransactionSession(
            ids: { configuration.transactionalIDs(worker: worker, set: $0) }, setCount: ServiceConfiguration.producerSets,
            topics: Topic.allCases.map { (configuration.topics[$0], configuration.producerProperties(of: $0)) },
            inactivityTimeout: .seconds(2), configuration: configuration.producer, hooks: hooks)
        // An anchor may only look, and then must not take over the ids of another one that writes.
        if assignment == nil { transactions.prepare() }
        try super.init(
            configuration: configuration, assignment: assignment, timeout: AdaptiveTimeout(shortest: configuration.callTimeout),
            watch: watch, hooks: hooks)
        if assignment == nil { try join() }
    }

    override var closedConnections: Int { (member?.consumer ?? uncommitted).closedConnections }

    override var groupReader: Consumer {
        get throws(KafkaError) { if let member { member.consumer } else { try super.groupReader } }
    }

    private var logger: Logger { hooks.logger }

    // MARK: - The consumer group

    private func join() throws(KafkaError) {
        var hooks = hooks
        // Only this client is polled all the time. The others would report events long after they are over.
        hooks.onError = watch.noticed
        let consumer = try Consumer(configuration: configuration.groupConsumer(worker: worker), hooks: hooks)
        try consumer.subscribe(to: topics.inputs)
        (member, given, ordersShare) = (PartitionReader(consumer, gaps: .leave), nil, OrdersShare())
    }

    func rejoin() throws(LogError) { try LogError.rethrowing { () throws(KafkaError) in try join() } }

    func leave(handsOver: Bool) {
        metrics?.abandoned()
        transactions.drop()
        fence = nil
        member?.consumer.close(handsOver: handsOver && hasOtherInstances)
        (member, given, assignment) = (nil, nil, nil)
    }

    /// Whether the group has members of other instances. Only then is it left: the first to join an empty group waits for
    /// `group.initial.rebalance.delay.ms`, while a static member that comes back gets its partitions at once.
    private var hasOtherInstances: Bool {
        guard configuration.capabilities.managesTopics else { return false }
        // If this instance had all partitions, no worker would have less than its share. Asking may take new connections.
        if let assignment, assignment.partitions.count < Int(storePartitions) / configuration.workers { return true }
        let own = (0..<configuration.workers).map { configuration.groupConsumer(worker: $0)["group.instance.id"] }
        let members = try? retrying(until: .now + .seconds(2)) { _ throws(KafkaError) in
            try member?.consumer.describeGroup(timeout: .seconds(1)).members
        }
        return members?.contains { !own.contains($0.instanceID) } ?? false
    }

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        transactions.poll()
        serve()
        guard let member else { return .records([], ends: []) }
        if let assigned = try resolveAssignment(member.consumer) { return .assigned(assigned) }
        if let gap = member.gaps.popLast() {
            guard gap.error.code.isDamage, let topic = topics.input(named: gap.partition.topic) else {
                // The position is outside of the log. The client may be wrong; starting over asks the broker.
                throw LogError(.startOver, gap.error.description)
            }
            // Batches that were damaged together are skipped together.
            let last = member.consumer.lastDamaged(of: gap.partition, from: gap.error.offset ?? 0, timeout: .seconds(5))
            return .damaged(
                InputPosition(topic: topic, partition: gap.partition.partition, offset: last), gap.error.message)
        }
        // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
        let waitingTime = Duration.milliseconds(member.consumer.hasAssignment ? 100 : 10)
        let batch: PartitionReader.Records
        do throws(KafkaError) {
            batch = try member.poll(maxRecords: maxRecords, timeout: wait == .briefly ? waitingTime : .zero)
        } catch {
            try rejoin(after: error)
            assignment = nil
            return .revoked
        }
        metrics?.measureLag { member.consumer.lastKnownEnd(of: topics[$0]) }
        for (partition, error) in batch.errors {
            if error.code == .unknownTopicOrPartition, partition?.topic == topics.orders { ordersShare.isOutdated = true }
            try report(error)
        }
        switch batch.rebalance {
        case .assigned(let partitions):
            given = partitions
            return try resolveAssignment(member.consumer).map { .assigned($0) } ?? .records([], ends: [])
        case .revoked(let error):
            (given, assignment) = (nil, nil)
            prepareTakeover()
            if let error { try report(error) }
            return .revoked
        case nil: break
        }
        // librdkafka pauses fetching while its queue holds `queued.min.messages`. Resuming it here keeps the queue smaller than a
        // second's worth of records, at some 500 bytes each.
        if wait == .briefly, batch.count == maxRecords { member.consumer.fetchOn(from: Array(member.positions.keys)) }
        let commands = engineRecords(of: batch, reusing: &spareCommands) { topics.input(named: $0.topic) }
        metrics?.polled(commands)
        if let last = commands.last { clocks?.compare(last, at: now) { headers(of: last) ?? [] } }
        return .records(
            commands,
            ends: batch.ends.compactMap { place, next in
                topics.input(named: place.topic).map { InputPosition(topic: $0, partition: place.partition, offset: next) }
            })
    }

    func headers(of record: CommandRecord) -> [MessageHeader]? {
        member?.headers(at: record.index, of: record.value)?.map { MessageHeader(name: $0.name, value: $0.value) }
    }

    /// Joins the group again after the membership was lost for good.
    ///
    /// If a member is fenced twice without a session timeout, another process has the same instance id (KIP-345). If its session
    /// timed out because the coordinator was gone for too long, its own earlier membership may fence it, as often as brokers fail.
    private func rejoin(after error: KafkaError) throws(LogError) {
        guard error.code == .fencedInstanceID else { throw LogError(.stop, error.description) }
        if member?.consumer.sessionTimedOut ?? false {
            logger.notice("fenced by its own earlier membership after the session timed out; rejoining the group")
        } else {
            guard rejoinedAt.map({ .now - $0 > Self.fencingWindow }) ?? true else {
                throw LogError(
                    .stop,
                    "another process has joined the group \(configuration.group) as instance"
                        + " \"\(configuration.instanceID)\"; give each its own --instance-id", subject: .setting)
            }
            logger.notice("fenced by another member of the same id; rejoining the group")
            rejoinedAt = .now
        }
        do throws(KafkaError) { try join() } catch { throw LogError(.stop, error.description) }
    }

    /// Throws an error that will never go away, and reports any other to the watch and the log. librdkafka may report an error
    /// only once.
    private func report(_ error: KafkaError) throws(LogError) {
        if error.code == .inconsistentGroupProtocol {
            throw LogError(
                .stop,
                "a member of the group \(configuration.group) has another assignor; every member must have"
                    + " partition.assignment.strategy=range (\(error.code.name))", subject: .setting)
        }
        let logError = LogError(error)
        if logError.remedy == .stop { throw logError }
        watch.noticed(error)
        guard error.remedy != .retry else { return }
        let before = errors.updateValue(.now, forKey: error.code)
        if before.map({ .now - $0 > Self.errorLogInterval }) ?? true { logger.warning("\(error)") }
    }

    /// Turns what the group has given into this worker's assignment, once the topics' partition counts are known. They are looked
    /// up each time: a static member that comes back gets its earlier assignment even if partitions were added in between.
    private func resolveAssignment(_ consumer: Consumer) throws(LogError) -> InputAssignment? {
        guard let given else { return nil }
        let metadata: ClusterMetadata
        do throws(KafkaError) {
            metadata = try metadataTimeout.waiting { timeout throws(KafkaError) in
                try consumer.metadata(topics: topics.inputs, timeout: timeout)
            }
        } catch {
            try report(error)
            return nil
        }
        let isNews = missingSince == nil
        if let error = absence(of: topics.inputs, in: metadata) {
            guard error.remedy == .retry else { throw error }
            if isNews { logger.warning("waiting for another assignment: \(error.message)") }
            return nil
        }
        let (orders, restocks) = (metadata[topics.orders]?.partitionCount ?? 0, metadata[topics.restocks]?.partitionCount ?? 0)
        watch.reached()
        let givenOrders = given.filter { $0.topic == topics.orders }.map(\.partition)
        let isOfOtherTopics = given.contains { !topics.inputs.contains($0.topic) }
        if isOfOtherTopics { ordersShare.isOutdated = true }
        let isDue = isOfOtherTopics || !given.isEmpty && orders >= restocks
        switch ordersShare.assigned(isDue: isDue, hasOrders: !givenOrders.isEmpty) {
        case .accept: break
        case .wait: return nil
        case .rejoin:
            logger.notice("joining the group again: its assignment is from before this member subscribed to \(topics.orders)")
            try LogError.rethrowing { () throws(KafkaError) in try consumer.subscribe(to: topics.inputs) }
            self.given = nil
            return nil
        case .warnOfOthers:
            logger.warning(
                """
                the group \(configuration.group) has members that are not this service, and orders in their partitions of \
                \(topics.orders) are not answered; `juice doctor` names them
                """)
        }
        self.given = nil
        let resolved = InputAssignment(
            orders: givenOrders, partitionCount: storePartitions, orderCount: Int32(clamping: orders),
            restockCount: Int32(clamping: restocks))
        assignment = resolved
        prepareTakeover()
        return resolved
    }

    /// Begins to prepare the next takeover, since a new client takes long to connect.
    private func prepareTakeover() {
        transactions.prepare()
        connectCommitted()
    }

    func start(at positions: [InputPosition]) throws(LogError) {
        metrics?.abandoned()
        fence = nil
        try openChangelog([], isolation: .committed)
        member?.gaps = []
        try LogError.rethrowing { () throws(KafkaError) in
            try member?.start(at: Dictionary(uniqueKeysWithValues: positions.map { (topics[$0.input], $0.offset) }))
        }
        if !positions.isEmpty { closeCommitted() }
        metrics?.published(positions.map { ($0.input, $0.offset) })
    }

    func publish(_ offsets: [InputPartition: GroupOffset]) {
        member?.consumer.publish(topics.commits(offsets))
        metrics?.published(offsets.map { ($0, $1.offset) })
    }

    // MARK: - Taking over

    override func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        let (start, startUptime) = (now, uptime)
        let metadata = try metadata()
        // Every topic counts, even one that is rarely written to: it could be missing when it is needed.
        if let error = absence(of: topics.all, in: metadata) { throw error }
        var found = try extents(of: partitions, in: metadata)
        for index in found.extents.indices {
            let extents = found.extents[index]
            for (log, end) in [(ChangelogTopic.stock, extents.stock.upperBound), (.results, extents.results.upperBound)]
            where transactions.takeLoss(of: topics[log.topic, extents.partition], endingAt: end) {
                found.extents[index].truncated.insert(log)
            }
        }
        clocks?.found(found.extents, at: start, uptime: startUptime)
        return found
    }

    /// Why topics cannot be used: one does not exist, or may not be described; nil if all can be.
    private func absence(of names: [String], in metadata: ClusterMetadata) -> LogError? {
        guard let missing = names.first(where: { metadata[$0] == nil }) else {
            missingSince = nil
            return nil
        }
        let since = missingSince ?? .now
        missingSince = since
        let error = metadata.topics.first { $0.name == missing }?.error
        if let error, error.code.isDenial { return LogError(error) }
        return LogError(.now - since < Self.longestAbsence ? .retry : .stop, error?.advised ?? "the topic \(missing) is gone")
    }

    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError) {
        guard let member else { return }
        // A stale member, which has to start over, learns from its next poll that it must rejoin.
        try LogError.rethrowing { () throws(KafkaError) in try member.consumer.commit(topics.commits(offsets)) }
        watch.reached()
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

    /// Adds which broker coordinates a former owner's transaction, if this client may describe Kafka's own topic.
    func namingCoordinator(in event: WorkerEvent) -> WorkerEvent {
        guard case .partitionFailing(let partition, var fault) = event, case .owner(let id) = fault.kind,
            let found = try? uncommitted.metadata(topics: [ClusterMetadata.transactionState], timeout: .seconds(1)),
            let broker = found.transactionCoordinator(of: id)
        else { return event }
        fault.reason += ", which broker \(broker) coordinates"
        return .partitionFailing(partition, fault)
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
        let partition = record.topic == .deadLetters ? record.partition % deadLetterPartitions : record.partition
        // Not in a closure, which would cost more than the rest of this call.
        do throws(KafkaError) {
            try transactions.produce(
                to: record.topic.rawValue, partition: partition, key: record.key, value: record.value,
                headers: record.headers.map { RecordHeader(name: $0.name, value: $0.value) },
                copying: record.original.flatMap { member?.headerList(at: $0) }, timestamp: record.timestamp)
        } catch { throw LogError(error, topics: topics) }
    }

    func flush() throws(LogError) {
        try LogError.rethrowing(topics: topics) { () throws(KafkaError) in
            try transactions.flush(timeout: configuration.callTimeout)
        }
    }

    func commit() throws(LogError) -> [Int32: [Range<Offset>]] {
        try LogError.rethrowing(topics: topics) { () throws(KafkaError) in
            try transactions.commit(timeout: configuration.callTimeout)
        }
        watch.reached()
        metrics?.committed(at: now)
        return transactions.deliveredRanges(in: topics.results)
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
            switch (error.code, refusing, error.place?.partition) {
            case (.invalidTimestamp, let topic?, let partition?): .time(topic, partition: partition)
            case (let code, let topic?, let partition?) where code.isRefusalOfRecord: .record(topic, partition: partition)
            case (.transport, _, _): .connection
            case (let code, _, _) where code.isDenial: .right
            case (let code, _, _) where code.exceededLimit != nil || code.isRefusalOfSetting: .setting
            default: .call
            }
        self.init(remedy, error.advised, subject: subject)
    }

    /// Calls a Kafka client and turns its errors into the engine's.
    static func rethrowing<Success>(
        topics: TopicNames? = nil, _ body: () throws(KafkaError) -> Success
    ) throws(LogError) -> Success {
        do throws(KafkaError) { return try body() } catch { throw LogError(error, topics: topics) }
    }
}

extension TopicNames {
    var prefix: String { String(orders.dropLast("orders".count)) }

    /// The topics that commands are read from.
    var inputs: [String] { InputTopic.allCases.map { self[$0.topic] } }

    subscript(topic: InputTopic) -> String { self[topic.topic] }

    package subscript(topic: Topic, partition: Int32) -> TopicPartition {
        TopicPartition(topic: self[topic], partition: partition)
    }

    subscript(input: InputPartition) -> TopicPartition { self[input.topic.topic, input.partition] }

    /// Kafka's form of what a group commits.
    func commits(_ offsets: [InputPartition: GroupOffset]) -> [TopicPartition: CommittedOffset] {
        let commits = offsets.map { (self[$0], CommittedOffset($1.offset, metadata: $1.mark?.metadata ?? "")) }
        return Dictionary(uniqueKeysWithValues: commits)
    }
}
