import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// A member of the consumer group, the share of the inputs that it was assigned, and the commands it reads. An error may end its
/// membership; then another one has to take its place.
final class CommandConsumer {
    private let group: String
    private let topics: TopicNames
    private let watch: BrokerWatch
    private let logger: Logger
    private let member: GroupConsumer

    /// How many partitions stores live in.
    private let storePartitions: Int32
    private var startedPartitions: [TopicPartition] = []
    /// What the group has assigned, until the topics' partition counts are known.
    private var given: [TopicPartition]?
    /// Since when topics are missing.
    private var waitingSince: ContinuousClock.Instant?
    private var ordersShare = OrdersShare()
    /// Places that cannot be read, which are still to be reported.
    private var damages: [(InputPosition, String)] = []
    /// How long to wait for the topics' partition counts.
    private var metadataTimeout = AdaptiveTimeout()
    /// What the current assignment lets this worker read; nil without one.
    private(set) var assignment: InputAssignment?
    /// The partition count of the larger input, as last logged.
    private var loggedPartitions: Int
    /// When each error last occurred, by code.
    private var errors: [KafkaError.Code: ContinuousClock.Instant] = [:]
    private var converter: RecordConverter<InputTopic>

    /// An error that recurs after this long is logged again.
    private static let errorLogInterval = Duration.seconds(60)

    /// Joins the group.
    init(
        configuration: ServiceConfiguration, worker: Int, partitions: TopicCheck.PartitionCounts, watch: BrokerWatch,
        hooks: ClientHooks
    ) throws(KafkaError) {
        (group, topics) = (configuration.group, configuration.topics)
        (storePartitions, loggedPartitions) = (partitions.stores, partitions.inputs)
        (self.watch, logger) = (watch, hooks.logger)
        converter = RecordConverter([topics.orders: .orders, topics.restocks: .restocks])
        var hooks = hooks
        // Only this client is polled all the time. The others would report events long after they are over.
        hooks.onError = watch.noticed
        member = try GroupConsumer(of: topics.inputs, configuration: configuration.groupConsumer(worker: worker), hooks: hooks)
    }

    /// For lookups of offsets and topics.
    var consumer: Consumer { member.consumer }

    /// The next event, or the error that ended this membership.
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> Result<PollResult, KafkaError> {
        if let assigned = try resolveAssignment() { return .success(assigned) }
        if let (position, reason) = damages.popLast() { return .success(.damaged(position, reason)) }
        let event: GroupConsumer.Event
        do throws(KafkaError) {
            event = try member.poll(maxRecords: maxRecords, timeout: wait == .briefly ? waitingTime : .zero)
        } catch { return .failure(error) }
        switch event {
        case .assigned(let partitions):
            given = partitions
            return .success(try resolveAssignment() ?? .records([], ends: []))
        case .revoked(let error):
            startedPartitions = []
            (given, assignment, damages) = (nil, nil, [])
            if let error { try report(error) }
            return .success(.revoked)
        case .records(let batch):
            // librdkafka pauses fetching while its queue holds `queued.min.messages`. Resuming it here keeps the queue smaller
            // than a second's worth of records, at some 500 bytes each.
            if wait == .briefly, batch.count == maxRecords { consumer.fetchOn(from: startedPartitions) }
            return .success(try convert(batch))
        }
    }

    /// A rebalance does not end a poll that waits for records, so polls are short until the first assignment.
    private var waitingTime: Duration { !member.hasAssignment ? .milliseconds(10) : .milliseconds(100) }

    private func convert(_ batch: RecordBatch) throws(LogError) -> PollResult {
        let (records, ends, damages) = try converter.convert(batch) { (partition, error) throws(LogError) in
            if let partition, error.code.isOffsetReset {
                // Of a damaged batch, the error may come after its partition was stopped.
                guard startedPartitions.contains(partition) else { return }
                // The client may be wrong. Starting over asks the broker.
                throw LogError(.startOver, error.description)
            }
            if error.code == .unknownTopicOrPartition, partition?.topic == topics.orders { ordersShare.areMissing = true }
            try report(error)
        }
        for (position, reason) in damages { self.damages.append((position, reason)) }
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
        converter.begin()
        damages = []
        try member.start(at: offsets)
        startedPartitions = Array(offsets.keys)
        for (partition, offset) in offsets {
            logger.debug(
                "reading on",
                metadata: ["topic": "\(partition.topic)", "partition": "\(partition.partition)", "offset": "\(offset)"])
        }
    }

    /// Leaves the group.
    func close() { member.close() }

    /// Throws an error that will never go away, and reports any other to the watch and the log. librdkafka may report an error
    /// only once.
    private func report(_ error: KafkaError) throws(LogError) {
        if error.code == .inconsistentGroupProtocol {
            throw LogError(
                .stop,
                "a member of the group \(group) has another assignor; every member must have"
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
            try waitForMissingTopics(metadata.topics.lazy.compactMap(\.error).first)
            return nil
        }
        watch.reached()
        let givenOrders = given.filter { $0.topic == topics.orders }.map(\.partition)
        switch ordersShare.assigned(isDue: !given.isEmpty && orders >= restocks, hasOrders: !givenOrders.isEmpty) {
        case .accept: break
        case .wait: return nil
        case .rejoin:
            logger.notice("joining the group again: \(topics.orders) did not exist when this member joined")
            try LogError.rethrowing(member.rejoin)
            (self.given, waitingSince) = (nil, nil)
            return nil
        case .nameStrangers:
            logger.warning(
                """
                the group \(group) has members that are not this service, and what they hold of \(topics.orders) is not answered; \
                `juice doctor` names them
                """)
        }
        (self.given, waitingSince) = (nil, nil)
        let assignment = InputAssignment(
            orders: givenOrders, partitionCount: storePartitions, orderCount: Int32(clamping: orders),
            restockCount: Int32(clamping: restocks))
        self.assignment = assignment
        warnOfAddedPartitions(max(orders, restocks))
        return .assigned(assignment)
    }

    private func waitForMissingTopics(_ error: KafkaError?) throws(LogError) {
        let reason = error?.description ?? "topics are missing"
        guard let waitingSince else {
            waitingSince = .now
            return logger.warning("waiting for another assignment: \(reason)")
        }
        if .now - waitingSince > KafkaCommandLog.longestAbsence { throw LogError(.stop, reason) }
    }

    private func warnOfAddedPartitions(_ count: Int) {
        guard count > loggedPartitions else { return }
        loggedPartitions = count
        logger.warning(
            """
            orders or restocks now have \(count.counted("partition")); stores live in \(storePartitions), and what comes to the \
            others is forwarded. `juice topics check` names the command that puts it right
            """
        )
    }
}

/// Decides about an assignment without orders. The range assignor gives a member that subscribes to both inputs orders along with
/// restocks. So either orders did not exist when it joined, which librdkafka reports, but does not always join again for a topic
/// that comes back meanwhile; or a stranger holds them, and joining again would only make the whole group rebalance.
struct OrdersShare {
    enum Action { case accept, wait, rejoin, nameStrangers }

    /// Whether a broker answered that orders do not exist. Each such answer makes the member join again once.
    var areMissing = false
    private var areStrangersNamed = false
    private var pause = Duration.seconds(5)
    private var rejoinsFrom: ContinuousClock.Instant?

    /// - Parameter isDue: whether the assignor would have given this member orders if it had subscribed to them.
    mutating func assigned(isDue: Bool, hasOrders: Bool, at now: ContinuousClock.Instant = .now) -> Action {
        if hasOrders { self = OrdersShare() }
        guard isDue, !hasOrders else { return .accept }
        guard areMissing else {
            defer { areStrangersNamed = true }
            return areStrangersNamed ? .accept : .nameStrangers
        }
        if let rejoinsFrom, now < rejoinsFrom { return .wait }
        (areMissing, rejoinsFrom, pause) = (false, now + pause, min(pause * 2, .seconds(300)))
        return .rejoin
    }
}

/// Converts polled records into the engine's.
private struct RecordConverter<Topic: Sendable & Hashable> {
    private let topics: [String: Topic]
    /// The topic of the last record. Records come in runs, so a topic's name need not be copied for each of them.
    private var last: (identity: OpaquePointer?, topic: Topic)?
    /// The records of the last batch; kept to reuse their memory.
    private var spare: [LogRecord<Topic>] = []
    /// Partitions that cannot be read on, since their bytes are damaged. Nothing that follows may be taken.
    private var damaged: Set<TopicPartition> = []

    /// - Parameter topics: the topics to expect, by name. Records of others are skipped.
    init(_ topics: [String: Topic]) { self.topics = topics }

    /// Other partitions are read, or the same from elsewhere. A topic's identity may be another's by then.
    mutating func begin() { (last, damaged) = (nil, []) }

    /// The records of a batch, the partitions that have been read to their ends, and the places that cannot be read. The bytes
    /// belong to the batch.
    ///
    /// - Parameter failed: called for each other error, with its partition if known.
    mutating func convert<Failure: Error>(
        _ batch: RecordBatch, failed: (TopicPartition?, KafkaError) throws(Failure) -> Void
    ) throws(Failure) -> (records: [LogRecord<Topic>], ends: [LogPosition<Topic>], damages: [LogPosition<Topic>: String]) {
        var records: [LogRecord<Topic>] = []
        swap(&records, &spare)
        records.removeAll(keepingCapacity: true)
        defer { spare = records }
        var ends: [LogPosition<Topic>] = []
        var damages: [LogPosition<Topic>: String] = [:]
        for (index, element) in batch.enumerated() {
            switch element {
            case .record(let record):
                guard let topic = topic(record.topicIdentity, named: record.topic) else { continue }
                if !damaged.isEmpty, damaged.contains(TopicPartition(topic: record.topic, partition: record.partition)) { continue }
                records.append(
                    LogRecord(
                        topic: topic, partition: record.partition, offset: record.offset, timestamp: record.timestamp,
                        key: record.key, value: record.value, index: index))
            case .endOfPartition(let end, let next):
                guard let topic = topics[end.topic], !damaged.contains(end) else { continue }
                ends.append(LogPosition(topic: topic, partition: end.partition, offset: next))
            // Whatever else librdkafka says of such a partition comes from bytes that it took for records.
            case .failure(let partition?, _) where damaged.contains(partition): continue
            case .failure(let partition?, let error) where error.code.isDamage:
                guard let topic = topics[partition.topic], damaged.insert(partition).inserted else { continue }
                let place = LogPosition(topic: topic, partition: partition.partition, offset: error.offset ?? 0)
                damages[place] = error.message
            case .failure(let partition, let error): try failed(partition, error)
            }
        }
        return (records, ends, damages)
    }

    /// The topic with an identity of librdkafka's. Its name would have to be copied, so it is asked for only if the last record was
    /// of another one.
    private mutating func topic(_ identity: OpaquePointer?, named name: @autoclosure () -> String) -> Topic? {
        if let last, last.identity == identity { return last.topic }
        guard let topic = topics[name()] else { return nil }
        last = (identity, topic)
        return topic
    }
}
