import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// A member of the consumer group, its assignment of the inputs, and the commands it reads. If its membership is lost for good, it
/// joins again as another one.
final class CommandConsumer {
    private let configuration: ServiceConfiguration
    private let worker: Int
    private let topics: TopicNames
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    /// The member of the group.
    private(set) var consumer: Consumer

    /// How many partitions stores live in.
    private let storePartitions: Int32
    private var startedPartitions: [TopicPartition] = []
    /// What the group has assigned, until the topics' partition counts are known.
    private var given: [TopicPartition]?
    /// Since when topics are missing.
    private var waitingSince: ContinuousClock.Instant?
    private var ordersShare = OrdersShare()
    /// How long to wait for the topics' partition counts.
    private var metadataTimeout = AdaptiveTimeout()
    /// When each error last occurred, by code.
    private var errors: [KafkaError.Code: ContinuousClock.Instant] = [:]
    /// When it last joined again without knowing why it was fenced.
    private var rejoinedAt: ContinuousClock.Instant?
    /// The records of the last batch; kept to reuse their memory.
    private var spare: [CommandRecord] = []
    /// Partitions that cannot be read on, since their bytes are damaged. Nothing that follows may be taken.
    private var damaged: Set<TopicPartition> = []
    /// Damage that is still to be reported.
    private var damages: [(place: TopicPartition, error: KafkaError)] = []

    /// An error that recurs after this long is logged again.
    private static let errorLogInterval = Duration.seconds(60)
    /// If it is fenced twice within this time, another process uses its instance id.
    private static let fencingWindow = Duration.seconds(60)

    /// Joins the group.
    init(
        configuration: ServiceConfiguration, worker: Int, partitions: TopicCheck.PartitionCounts, watch: BrokerWatch,
        hooks: ClientHooks
    ) throws(KafkaError) {
        (self.configuration, self.worker, topics, self.watch) = (configuration, worker, configuration.topics, watch)
        storePartitions = partitions.stores
        var hooks = hooks
        // Only this client is polled all the time. The others would report events long after they are over.
        hooks.onError = watch.noticed
        self.hooks = hooks
        consumer = try Self.join(configuration, worker, hooks)
    }

    private static func join(
        _ configuration: ServiceConfiguration, _ worker: Int, _ hooks: ClientHooks
    ) throws(KafkaError) -> Consumer {
        let consumer = try Consumer(configuration: configuration.groupConsumer(worker: worker), hooks: hooks)
        try consumer.subscribe(to: configuration.topics.inputs)
        return consumer
    }

    private var logger: Logger { hooks.logger }

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        if let assigned = try resolveAssignment() { return assigned }
        if let (place, error) = damages.popLast() {
            // Batches that were damaged together are passed over together.
            let last = consumer.lastDamaged(of: place, from: error.offset ?? 0, timeout: .seconds(5))
            let topic = topics.input(named: place.topic) ?? .orders
            return .damaged(InputPosition(topic: topic, partition: place.partition, offset: last), error.message)
        }
        // A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
        let waitingTime = Duration.milliseconds(consumer.hasAssignment ? 100 : 10)
        let batch: RecordBatch
        do throws(KafkaError) {
            batch = try consumer.poll(maxRecords: maxRecords, timeout: wait == .briefly ? waitingTime : .zero)
        } catch {
            try rejoin(after: error)
            return .revoked
        }
        switch batch.rebalance {
        case .assigned(let partitions):
            given = partitions
            return try resolveAssignment() ?? .records([], ends: [])
        case .revoked(let error):
            forgetAssignment()
            if let error { try report(error) }
            return .revoked
        case nil:
            // librdkafka pauses fetching while its queue holds `queued.min.messages`. Resuming it here keeps the queue smaller
            // than a second's worth of records, at some 500 bytes each.
            if wait == .briefly, batch.count == maxRecords { consumer.fetchOn(from: startedPartitions) }
            return try take(batch)
        }
    }

    /// The engine's form of a batch, whose bytes still belong to the batch.
    private func take(_ batch: RecordBatch) throws(LogError) -> PollResult {
        var records: [CommandRecord] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        var ends: [InputPosition] = []
        // Records come in runs of a topic, whose name would have to be copied for each of them.
        var run: (identity: OpaquePointer?, topic: InputTopic?)
        for (index, element) in batch.enumerated() {
            switch element {
            case .record(let record):
                if run.topic == nil || run.identity != record.topicIdentity {
                    run = (record.topicIdentity, topics.input(named: record.topic))
                }
                guard let topic = run.topic, damaged.isEmpty || !damaged.contains(record.place) else { continue }
                records.append(
                    CommandRecord(
                        topic: topic, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            // Whatever else librdkafka says of a damaged partition comes from bytes that it took for records.
            case .endOfPartition(let end, let next):
                guard let topic = topics.input(named: end.topic), !damaged.contains(end) else { continue }
                ends.append(InputPosition(topic: topic, partition: end.partition, offset: next))
            case .failure(let partition?, _) where damaged.contains(partition): continue
            case .failure(let partition?, let error) where error.code.isDamage:
                damaged.insert(partition)
                damages.append((partition, error))
            case .failure(let partition?, let error) where error.code.isOffsetReset:
                // Of a damaged batch, the error may come after its partition was stopped.
                guard startedPartitions.contains(partition) else { continue }
                // The client may be wrong. Starting over asks the broker.
                throw LogError(.startOver, error.description)
            case .failure(let partition, let error):
                if error.code == .unknownTopicOrPartition, partition?.topic == topics.orders { ordersShare.areMissing = true }
                try report(error)
            }
        }
        return .records(records, ends: ends)
    }

    /// The headers of a record that was polled last; nil if they cannot be read.
    func headers(of record: CommandRecord) -> [MessageHeader]? {
        consumer.batch.headers(at: record.index, of: record.value)?.map { MessageHeader(name: $0.name, value: $0.value) }
    }

    /// The headers of the record at an index of what was polled last, byte for byte.
    func headerList(at index: Int) -> HeaderList? {
        if case .record(let record) = consumer.batch[index] { record.headerList } else { nil }
    }

    /// Reads exactly these partitions from these offsets.
    func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        (damaged, damages) = ([], [])
        try consumer.assign(offsets)
        startedPartitions = Array(offsets.keys)
        for (partition, offset) in offsets {
            logger.debug(
                "reading on",
                metadata: ["topic": "\(partition.topic)", "partition": "\(partition.partition)", "offset": "\(offset)"])
        }
    }

    /// Leaves the group.
    func close() { consumer.close() }

    private func forgetAssignment() { (given, startedPartitions, damages) = (nil, [], []) }

    /// Joins the group again after the membership was lost for good.
    ///
    /// If a member is fenced twice without a session timeout, another process has the same instance id (KIP-345). After a session
    /// timeout, since the coordinator was gone for too long, it may be fenced by its own earlier membership, as often as brokers
    /// fail.
    private func rejoin(after error: KafkaError) throws(LogError) {
        guard error.code == .fencedInstanceID else { throw LogError(.stop, error.description) }
        if consumer.sessionTimedOut {
            logger.notice("fenced by its own earlier membership after the session timed out; rejoining the group")
        } else {
            guard rejoinedAt.map({ .now - $0 > Self.fencingWindow }) ?? true else {
                throw LogError(
                    .stop,
                    "another process has joined the group \(configuration.group) as instance"
                        + " \"\(configuration.instanceID)\"; give each its own --instance-id")
            }
            logger.notice("fenced by another member of the same id; rejoining the group")
            rejoinedAt = .now
        }
        do throws(KafkaError) {
            consumer = try Self.join(configuration, worker, hooks)
        } catch { throw LogError(.stop, error.description) }
        forgetAssignment()
        (waitingSince, ordersShare) = (nil, OrdersShare())
    }

    /// Throws an error that will never go away, and reports any other to the watch and the log. librdkafka may report an error
    /// only once.
    private func report(_ error: KafkaError) throws(LogError) {
        if error.code == .inconsistentGroupProtocol {
            throw LogError(
                .stop,
                "a member of the group \(configuration.group) has another assignor; every member must have"
                    + " partition.assignment.strategy=range (\(error.code.name))")
        }
        let logError = LogError(error)
        if logError.remedy == .stop { throw logError }
        watch.noticed(error)
        guard error.remedy != .retry else { return }
        let before = errors.updateValue(.now, forKey: error.code)
        if before.map({ .now - $0 > Self.errorLogInterval }) ?? true { logger.warning("\(error)") }
    }

    // MARK: - Assignment

    /// Turns what the group has assigned into this worker's share, once the topics' partition counts are known. They are looked
    /// up each time: a static member that comes back gets its earlier assignment even if partitions were added in between.
    private func resolveAssignment() throws(LogError) -> PollResult? {
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
        guard let orders = metadata[topics.orders]?.partitionCount, let restocks = metadata[topics.restocks]?.partitionCount else {
            let reason = metadata.topics.lazy.compactMap(\.error).first?.description ?? "topics are missing"
            if waitingSince == nil { logger.warning("waiting for another assignment: \(reason)") }
            let since = waitingSince ?? .now
            waitingSince = since
            if .now - since > LibrdkafkaPort.longestAbsence { throw LogError(.stop, reason) }
            return nil
        }
        watch.reached()
        let givenOrders = given.filter { $0.topic == topics.orders }.map(\.partition)
        switch ordersShare.assigned(isDue: !given.isEmpty && orders >= restocks, hasOrders: !givenOrders.isEmpty) {
        case .accept: break
        case .wait: return nil
        case .rejoin:
            logger.notice("joining the group again: \(topics.orders) did not exist when this member joined")
            try LogError.rethrowing { () throws(KafkaError) in try consumer.subscribe(to: topics.inputs) }
            (self.given, waitingSince) = (nil, nil)
            return nil
        case .warnOfOthers:
            logger.warning(
                """
                the group \(configuration.group) has members that are not this service, and orders in their partitions of \
                \(topics.orders) are not answered; `juice doctor` names them
                """)
        }
        (self.given, waitingSince) = (nil, nil)
        return .assigned(
            InputAssignment(
                orders: givenOrders, partitionCount: storePartitions, orderCount: Int32(clamping: orders),
                restockCount: Int32(clamping: restocks)))
    }
}

/// Decides about an assignment without orders. The range assignor gives a member that subscribes to both inputs orders along with
/// restocks. So either the topic did not exist when it joined, which librdkafka reports, though it does not always join again when
/// the topic comes back; or another program in the group has them, and joining again would only make the whole group rebalance.
struct OrdersShare {
    enum Action { case accept, wait, rejoin, warnOfOthers }

    /// Whether a broker answered that orders do not exist. Each such answer makes the member join again once.
    var areMissing = false
    private var hasWarnedOfOthers = false
    private var pause = Duration.seconds(5)
    private var rejoinsFrom: ContinuousClock.Instant?

    /// - Parameter isDue: whether the assignor would have given this member orders if it had subscribed to them.
    mutating func assigned(isDue: Bool, hasOrders: Bool, at now: ContinuousClock.Instant = .now) -> Action {
        if hasOrders { self = OrdersShare() }
        guard isDue, !hasOrders else { return .accept }
        guard areMissing else {
            defer { hasWarnedOfOthers = true }
            return hasWarnedOfOthers ? .accept : .warnOfOthers
        }
        if let rejoinsFrom, now < rejoinsFrom { return .wait }
        (areMissing, rejoinsFrom, pause) = (false, now + pause, min(pause * 2, .seconds(300)))
        return .rejoin
    }
}
