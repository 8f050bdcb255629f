import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// The commands as a member of the consumer group gets them: which partitions, from where, and the records.
///
/// It is one membership. After an error that ends it, another is made.
final class CommandInput {
    private let configuration: ServiceConfiguration
    private let partitionCount: Int32
    private let watch: BrokerWatch
    private let logger: Logger
    private let member: GroupConsumer

    private var startedPartitions: [TopicPartition] = []
    /// What the group gave, until it is known what to read of it.
    private var given: [TopicPartition]?
    private var isWaiting = false
    /// How long it is asked what there is to read.
    private var metadataTimeout = AdaptiveTimeout()
    /// What it reads by the present assignment.
    private(set) var share: InputShare?
    /// How many partitions the larger input had when this was last told.
    private var toldPartitions: Int
    /// When each error was met last, by its code.
    private var errors: [KafkaError.Code: ContinuousClock.Instant] = [:]
    private var converter: RecordConverter<InputTopic>

    /// An error that comes back after this long is logged again.
    private static let errorLogInterval = Duration.seconds(60)

    /// Joins the group.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        topics ready: TopicPreparation.Ready,
        watch: BrokerWatch,
        hooks: ClientHooks
    ) throws(KafkaError) {
        self.configuration = configuration
        partitionCount = ready.partitionCount
        toldPartitions = ready.inputPartitions
        self.watch = watch
        logger = hooks.logger
        let topics = configuration.topics
        converter = RecordConverter([topics.orders: .orders, topics.restocks: .restocks])
        var hooks = hooks
        // Only this client is polled all the time. What the others notice would be told when it is long over.
        hooks.onError = { watch.noticed($0) }
        member = try GroupConsumer(
            of: topics.inputs,
            configuration: configuration.groupConsumer(worker: worker),
            hooks: hooks
        )
    }

    /// For questions about offsets.
    var consumer: Consumer { member.consumer }

    /// What the present assignment belongs to; nil without one.
    var membership: ConsumerGroupMetadata? { member.membership }

    /// What happened next, or the error that ended this membership.
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> Result<PollResult, KafkaError> {
        if wait == .briefly, watch.needsProbe { watch.probe(consumer) }

        if let assigned = try takeAssignment() { return .success(assigned) }
        let event: GroupConsumer.Event
        do throws(KafkaError) {
            event = try member.poll(maxRecords: maxRecords, timeout: wait == .briefly ? waitingTime : .zero)
        } catch {
            return .failure(error)
        }
        switch event {
        case .assigned(let partitions):
            given = partitions
            return .success(try takeAssignment() ?? .records([], ends: []))
        case .revoked(let error):
            startedPartitions = []
            (given, share) = (nil, nil)
            if let error { try note(error) }
            return .success(.revoked)
        case .records(let batch):
            // It stops fetching while its queue holds `queued.min.messages`. Otherwise the queue would have to hold a second's
            // worth of records, some 500 bytes each.
            if wait == .briefly, batch.count == maxRecords {
                consumer.fetchOn(from: startedPartitions, timeout: .milliseconds(50))
            }
            return .success(try takeIn(batch))
        }
    }

    /// A rebalance does not end a poll that waits for records: before the first there is nothing else to wait for.
    private var waitingTime: Duration { membership == nil ? .milliseconds(10) : .milliseconds(100) }

    private func takeIn(_ batch: RecordBatch) throws(LogError) -> PollResult {
        let (records, ends) = try converter.convert(batch) { (partition, error) throws(LogError) in
            if partition != nil, error.code.isOffsetReset {
                // The client may be wrong about it. Starting over asks the broker.
                throw LogError(.startOver, error.description)
            }
            try note(error)
        }
        return .records(records, ends: ends)
    }

    /// Reads these partitions from these offsets, and no others.
    func start(at offsets: [TopicPartition: Offset]) throws(KafkaError) {
        try member.start(at: offsets)
        startedPartitions = Array(offsets.keys)
        for (partition, offset) in offsets {
            logger.debug(
                "reading on",
                metadata: [
                    "topic": "\(partition.topic)", "partition": "\(partition.partition)",
                    "offset": "\(offset)",
                ]
            )
        }
    }

    /// Leaves the group.
    func close() { member.close() }

    /// What the consumer met: some of it heals by itself, some never will, and librdkafka may tell it only once.
    private func note(_ error: KafkaError) throws(LogError) {
        if error.code == .inconsistentGroupProtocol {
            throw LogError(
                .stop,
                "a member of the group \(configuration.group) has another assignor; every member must have"
                    + " partition.assignment.strategy=range (\(error.code.name))"
            )
        }
        let logError = LogError(error)
        if logError.remedy == .stop { throw logError }
        watch.noticed(error)
        guard error.remedy != .retry else { return }
        let before = errors.updateValue(.now, forKey: error.code)
        if before.map({ .now - $0 > Self.errorLogInterval }) ?? true { logger.warning("\(error)") }
    }
}

// MARK: - Assignment

extension CommandInput {
    /// Takes what the group gave, once the topics' numbers of partitions are known. They are asked for each time: a static member
    /// that comes back gets its former share, also when partitions were added meanwhile.
    private func takeAssignment() throws(LogError) -> PollResult? {
        guard let given else { return nil }
        let topics = configuration.topics
        let metadata: ClusterMetadata
        do throws(KafkaError) {
            metadata = try consumer.metadata(topics: topics.inputs, timeout: metadataTimeout.current)
            metadataTimeout.answered()
        } catch {
            if error.code == .timedOut { metadataTimeout.timedOut() }
            try note(error)
            return nil
        }
        guard let orders = metadata[topics.orders]?.partitionCount,
            let restocks = metadata[topics.restocks]?.partitionCount
        else {
            tellOfWaiting(for: metadata.topics.lazy.compactMap(\.error).first)
            return nil
        }
        (self.given, isWaiting) = (nil, false)
        watch.reached()
        let share = InputShare(
            orders: given.filter { $0.topic == topics.orders }.map(\.partition),
            partitionCount: partitionCount,
            orderCount: Int32(clamping: orders),
            restockCount: Int32(clamping: restocks)
        )
        self.share = share
        tellOfPartitions(max(orders, restocks))
        return .assigned(share.partitions)
    }

    private func tellOfWaiting(for error: KafkaError?) {
        guard !isWaiting else { return }
        isWaiting = true
        logger.warning("waiting for another assignment: \(error?.description ?? "topics are missing")")
    }

    private func tellOfPartitions(_ count: Int) {
        guard count > toldPartitions else { return }
        toldPartitions = count
        logger.warning(
            """
            orders or restocks now have \(count) partitions; stores live in \(partitionCount), and what comes to the \
            others is forwarded. `juice topics check` names the command that puts it right
            """
        )
    }
}
