import JuiceEngine
import Kafka
import Logging

/// The commands as a member of the consumer group gets them: which partitions, from where, and the records.
///
/// It is one membership. After an error that ends it, another is made.
final class CommandInput {
    private let configuration: ServiceConfiguration
    private let watch: BrokerWatch
    private let logger: Logger
    private let member: GroupConsumer

    private var startedPartitions: [TopicPartition] = []
    /// Why the present assignment cannot be worked on, and since when none could.
    private var unlikeAssignment: LogError?
    private var unlikeSince: ContinuousClock.Instant?
    /// When each error was met last, by its code.
    private var errors: [KafkaError.Code: ContinuousClock.Instant] = [:]
    private var converter: RecordConverter<InputTopic>

    /// A broker that has just started may not know all topics yet, and librdkafka then subscribes to those it knows, until it
    /// asks again. Only an unlike assignment that outlasts that is a mistake in the setup.
    private static let patience = Duration.seconds(30)
    /// An error that was away for this long is news when it comes back.
    private static let absence = Duration.seconds(60)

    /// Joins the group.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        watch: BrokerWatch,
        hooks: ClientHooks
    ) throws(KafkaError) {
        self.configuration = configuration
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

    /// What the present assignment belongs to; nil without one that can be worked on.
    var membership: ConsumerGroupMetadata? { unlikeAssignment == nil ? member.membership : nil }

    /// What happened next, or the error that ended this membership.
    func poll(maxRecords: Int, wait: Bool) throws(LogError) -> Result<PollResult, KafkaError> {
        if let unlikeAssignment, let unlikeSince, .now - unlikeSince > Self.patience {
            throw unlikeAssignment
        }
        if wait, watch.needsProbe { watch.probe(consumer) }

        let event: GroupConsumer.Event
        do throws(KafkaError) {
            event = try member.poll(maxRecords: maxRecords, timeout: wait ? waitingTime : .zero)
        } catch {
            return .failure(error)
        }
        switch event {
        case .assigned(let partitions):
            return .success(take(partitions))
        case .revoked(let error):
            startedPartitions = []
            unlikeAssignment = nil
            if let error { try note(error) }
            return .success(.revoked)
        case .records(let batch):
            if wait, batch.count == maxRecords { wakeFetchers() }
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

    /// Makes librdkafka fetch on at once.
    ///
    /// It stops fetching while its queue holds `queued.min.messages`, and version 2.0.2 looks again only when something
    /// wakes the leader's thread, at the latest after a second. A request to the leaders wakes them all; without it the
    /// queue would have to hold a second's worth of records, some 500 bytes each.
    private func wakeFetchers() {
        _ = try? consumer.endOffsets(of: startedPartitions, timeout: .milliseconds(50))
    }

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
        if before.map({ .now - $0 > Self.absence }) ?? true { logger.warning("\(error)") }
    }
}

// MARK: - Assignment

extension CommandInput {
    private func take(_ partitions: [TopicPartition]) -> PollResult {
        watch.reached()
        guard let numbers = coPartitioned(partitions) else {
            let error = unlikeness(of: partitions)
            logger.warning("waiting for another assignment: \(error.message)")
            unlikeAssignment = error
            unlikeSince = unlikeSince ?? .now
            return .records([], ends: [])
        }
        unlikeAssignment = nil
        unlikeSince = nil
        return .assigned(numbers)
    }

    /// The partition numbers of an assignment, provided that it has the same ones of each topic. The state of a
    /// store is in one place only if orders and restocks of its partition are.
    private func coPartitioned(_ partitions: [TopicPartition]) -> [Int32]? {
        let numbers = configuration.topics.inputs.map { topic in
            partitions.filter { $0.topic == topic }.map(\.partition).sorted()
        }
        guard let first = numbers.first, numbers.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    private func unlikeness(of partitions: [TopicPartition]) -> LogError {
        LogError(
            .stop,
            "the group \(configuration.group) assigned unlike partitions of orders and restocks"
                + " (\(partitions.map(\.description).sorted().joined(separator: ", "))); every member must"
                + " subscribe to both with partition.assignment.strategy=range, and both must have the same"
                + " number of partitions"
        )
    }
}
