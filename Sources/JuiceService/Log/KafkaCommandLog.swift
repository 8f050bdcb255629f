import JuiceEngine
import Kafka
import Logging

/// The engine's log on Kafka: one consumer of the group and two transactional producers.
///
/// It belongs to one worker thread. No call blocks for much longer than a second, so that the thread can always be
/// asked to stop; what takes longer ends with ``LogError/Remedy/retry`` and is resumed by the same call.
final class KafkaCommandLog: CommandLog {
    private let configuration: ServiceConfiguration
    private let worker: Int
    private let watch: BrokerWatch
    private let hooks: ClientHooks
    private let deadLetterPartitions: Int32

    private var consumer: Consumer
    private var producers: ProducerPair?
    private var restorePointReader: RestorePointReader?
    private var changelog: ChangelogReader?

    /// Rebalances told during the last poll and not yet handed on.
    private let rebalances = RebalanceQueue()
    private var startedPartitions: [TopicPartition] = []
    private var membership: ConsumerGroupMetadata?
    /// Codes of errors that were logged already.
    private var toldCodes: Set<KafkaError.Code> = []
    /// What a record's ``ConsumedRecord/topicIdentity`` stands for, so that its name is not copied for every record.
    private var knownTopics: [OpaquePointer?: InputTopic] = [:]
    /// The records of the last poll; kept to reuse their memory.
    private var records: [CommandRecord] = []
    /// What the open transaction commits; the embedded broker has to be told twice.
    private var sentOffsets: [TopicPartition: Offset] = [:]

    private static let callTimeout = Duration.seconds(1)
    /// Being fenced twice within this time is another process's doing.
    private static let rivalry = Duration.seconds(60)
    private var rejoinedAt: ContinuousClock.Instant?

    /// Joins the consumer group.
    ///
    /// - Parameter deadLetterPartitions: how many partitions the topic has; it need not equal the others' count.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        deadLetterPartitions: Int32,
        watch: BrokerWatch,
        logger: Logger
    ) throws(KafkaError) {
        self.configuration = configuration
        self.worker = worker
        self.watch = watch
        self.deadLetterPartitions = deadLetterPartitions
        hooks = ClientHooks(logger: logger, logCeiling: .info)
        consumer = try Self.joinedConsumer(configuration, worker: worker, watch, hooks, rebalances)
    }

    private static func joinedConsumer(
        _ configuration: ServiceConfiguration,
        worker: Int,
        _ watch: BrokerWatch,
        _ hooks: ClientHooks,
        _ rebalances: RebalanceQueue
    ) throws(KafkaError) -> Consumer {
        var hooks = hooks
        // Only the consumer is polled all the time. What the others notice would be told when it is long over.
        hooks.onError = { watch.noticed($0) }
        let consumer = try Consumer(configuration: configuration.groupConsumer(worker: worker), hooks: hooks)
        try consumer.subscribe(to: InputTopic.allCases.map { configuration.topics[$0] }) {
            rebalances.append($0)
            // Reading begins with `start`, once the state is restored.
            return .hold
        }
        return consumer
    }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    func leave() {
        // Producers first: a consumer that has left can no longer be the reason for anything they commit.
        producers = nil
        restorePointReader = nil
        changelog = nil
        consumer.close()
    }
}

// MARK: - Input

extension KafkaCommandLog {
    func poll(maxRecords: Int, wait: Bool) throws(LogError) -> PollResult {
        records.removeAll(keepingCapacity: true)
        if let result = try nextRebalance() { return result }
        if wait, watch.needsProbe { probe() }

        let batch: RecordBatch
        do throws(KafkaError) {
            batch = try consumer.poll(maxRecords: maxRecords, timeout: wait ? .milliseconds(100) : .zero)
        } catch {
            return try rejoin(after: error)
        }
        // A change of the assignment makes the records of the same poll void: nothing is read under the new one
        // before `start`.
        if let result = try nextRebalance() { return result }

        if wait, batch.count == maxRecords { wakeFetchers() }
        for element in batch {
            switch element {
            case .record(let record):
                records.append(commandRecord(record))
            case .endOfPartition:
                continue
            case .failure(let partition?, let error)
            where error.code == .autoOffsetReset || error.code == .offsetOutOfRange:
                return .outOfRange(partition: partition.partition, reason: "\(partition): \(error.message)")
            case .failure(_, let error):
                try note(error)
            }
        }
        return .records(records)
    }

    /// What the consumer met: some of it heals by itself, some never will, and librdkafka may tell it only once.
    private func note(_ error: KafkaError) throws(LogError) {
        let logError = LogError(error)
        if logError.remedy == .stop { throw logError }
        watch.noticed(error)
        if error.remedy != .retry, toldCodes.insert(error.code).inserted {
            hooks.logger.warning("\(error)")
        }
    }

    /// Makes librdkafka fetch on at once.
    ///
    /// It stops fetching while its queue holds `queued.min.messages`, and version 2.0.2 looks again only when something
    /// wakes the leader's thread, at the latest after a second. A request to the leaders wakes them all; without it the
    /// queue would have to hold a second's worth of records, some 500 bytes each.
    private func wakeFetchers() {
        _ = try? consumer.endOffsets(of: startedPartitions, timeout: .milliseconds(50))
    }

    private func commandRecord(_ record: ConsumedRecord) -> CommandRecord {
        CommandRecord(
            topic: topic(of: record),
            partition: record.partition,
            offset: record.offset,
            key: record.key,
            value: record.value,
            headers: record.headers.map { Header(name: $0.name, value: $0.value) }
        )
    }

    private func topic(of record: ConsumedRecord) -> InputTopic {
        if let topic = knownTopics[record.topicIdentity] { return topic }
        let topic: InputTopic = record.topic == configuration.topics.orders ? .orders : .restocks
        knownTopics[record.topicIdentity] = topic
        return topic
    }

    func start(at positions: [InputPosition]) throws(LogError) {
        changelog = nil
        do throws(KafkaError) {
            let offsets = offsets(positions)
            try consumer.assign(offsets)
            startedPartitions = Array(offsets.keys)
        } catch {
            throw LogError(error)
        }
    }

    private func nextRebalance() throws(LogError) -> PollResult? {
        guard let rebalance = rebalances.popFirst() else { return nil }
        switch rebalance {
        case .assigned(let partitions, let membership):
            watch.reached()
            self.membership = membership
            return .assigned(try coPartitioned(partitions))
        case .revoked:
            giveUp()
            return .revoked
        case .failed(let error):
            giveUp()
            try note(error)
            return .revoked
        }
    }

    private func giveUp() {
        membership = nil
        startedPartitions = []
        restorePointReader = nil
        changelog = nil
    }

    /// The partition numbers of an assignment, provided that it has the same ones of each topic. The state of a
    /// store is in one place only if orders and restocks of its partition are.
    private func coPartitioned(_ partitions: [TopicPartition]) throws(LogError) -> [Int32] {
        let numbers = InputTopic.allCases.map { topic in
            partitions.filter { $0.topic == configuration.topics[topic] }.map(\.partition).sorted()
        }
        guard let first = numbers.first, numbers.allSatisfy({ $0 == first }) else {
            throw LogError(
                .stop,
                "the group \(configuration.group) assigned unlike partitions of orders and restocks"
                    + " (\(partitions.map(\.description).sorted().joined(separator: ", "))); every member must"
                    + " subscribe to both with partition.assignment.strategy=range, and both must have the same"
                    + " number of partitions"
            )
        }
        return first
    }

    /// Asks the cluster for something small, to know whether it answers.
    private func probe() {
        do throws(KafkaError) {
            _ = try consumer.metadata(topics: [configuration.topics.orders], timeout: .milliseconds(500))
            watch.reached()
        } catch {
            watch.failed(error)
        }
    }

    /// Joins the group anew after the consumer is beyond recovery.
    ///
    /// "Fenced" usually means that another process took over this instance's id. But after an outage that outlasts the
    /// session timeout, librdkafka 2.0.2 forgets its member id and is fenced by its own former self. So it is tried again;
    /// whoever is fenced soon after that, and without another outage, has a rival.
    private func rejoin(after error: KafkaError) throws(LogError) -> PollResult {
        guard error.code == .fencedInstanceID, !hasRival else { throw LogError(.stop, fatalMessage(error)) }
        rejoinedAt = .now
        hooks.logger.notice(
            "fenced by another member of the same id, perhaps an earlier self; joining the group anew"
        )
        rebalances.removeAll()
        giveUp()
        do throws(KafkaError) {
            consumer = try Self.joinedConsumer(configuration, worker: worker, watch, hooks, rebalances)
        } catch {
            throw LogError(.stop, error.description)
        }
        return .revoked
    }

    private var hasRival: Bool {
        guard let rejoinedAt else { return false }
        let hasRecoveredSince = watch.recoveredAt.map { $0 > rejoinedAt } ?? false
        return !hasRecoveredSince && .now - rejoinedAt < Self.rivalry
    }

    private func fatalMessage(_ error: KafkaError) -> String {
        guard error.code == .fencedInstanceID else { return error.description }
        return "another process has joined the group \(configuration.group) as instance"
            + " \"\(configuration.instanceID)\"; give each its own --instance-id"
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
    func restorePoints(of partitions: [Int32]) throws(LogError) -> [RestorePoint] {
        do throws(KafkaError) {
            let reader: RestorePointReader
            if let restorePointReader {
                reader = restorePointReader
            } else {
                reader = try RestorePointReader(configuration: configuration, hooks: hooks)
            }
            restorePointReader = reader
            let points = try reader.read(partitions, group: consumer, timeout: Self.callTimeout)
            restorePointReader = nil
            return points
        } catch {
            throw LogError(error)
        }
    }

    func openChangelog(_ partitions: [Int32]) throws(LogError) {
        do throws(KafkaError) {
            changelog = try ChangelogReader(
                partitions: partitions,
                configuration: configuration,
                hooks: hooks
            )
        } catch {
            throw LogError(error)
        }
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        guard let changelog else { throw LogError(.startOver, "the changelog is not open") }
        do throws(KafkaError) {
            return try changelog.read(timeout: .milliseconds(100))
        } catch {
            throw LogError(error)
        }
    }
}

// MARK: - Transactions

extension KafkaCommandLog {
    func initTransactions() throws(LogError) {
        try onProducers { (pair) throws(KafkaError) in
            // Producers that are still being initialised go on where the last call ran into its timeout.
            if pair?.isReady ?? true {
                pair = try ProducerPair(configuration: configuration, worker: worker, hooks: hooks)
            }
            try pair?.initTransactions(timeout: Self.callTimeout)
        }
    }

    func begin() throws(LogError) {
        sentOffsets = [:]
        try onProducers { (pair) throws(KafkaError) in
            pair?.takeTurns()
            try Self.ready(pair).current.begin()
        }
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        // The dead letters may have fewer partitions than the commands.
        let partition =
            record.topic == .deadLetters ? record.partition % deadLetterPartitions : record.partition
        try onProducers { (pair) throws(KafkaError) in
            try Self.ready(pair).produce(record, partition: partition)
        }
    }

    func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        sentOffsets = offsets(positions)
        try onProducers { (pair) throws(KafkaError) in
            guard let membership else {
                throw KafkaError(
                    code: .state,
                    message: "the partitions were given up",
                    requiresAbort: true
                )
            }
            try Self.ready(pair).current.sendOffsets(
                sentOffsets,
                membership: membership,
                timeout: Self.callTimeout
            )
        }
    }

    func commit() throws(LogError) {
        try onProducers { (pair) throws(KafkaError) in
            try Self.ready(pair).current.commit(timeout: Self.callTimeout)
        }
        guard configuration.isEmbedded, !sentOffsets.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(sentOffsets)
        } catch {
            hooks.logger.warning("the embedded broker did not keep the offsets: \(error)")
        }
    }

    func abort() throws(LogError) {
        try onProducers { (pair) throws(KafkaError) in
            try Self.ready(pair).current.abort(timeout: Self.callTimeout)
        }
    }

    private static func ready(_ pair: ProducerPair?) throws(KafkaError) -> ProducerPair {
        guard let pair, pair.isReady else {
            throw KafkaError(code: .state, message: "no producer is initialised")
        }
        return pair
    }

    /// Makes a call on the producers, and drops them when it leaves them useless.
    private func onProducers(
        _ body: (inout ProducerPair?) throws(KafkaError) -> Void
    ) throws(LogError) {
        do throws(KafkaError) {
            try body(&producers)
        } catch {
            if error.remedy == .startOver { producers = nil }
            if error.remedy == .retry { probe() }
            throw LogError(error)
        }
    }
}

extension LogError {
    /// The engine's view of a client's error.
    init(_ error: KafkaError) {
        let denied: Set<KafkaError.Code> = [
            .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed,
            .clusterAuthorizationFailed,
        ]
        // What no retry and no new client will change.
        let hopeless: Set<KafkaError.Code> = [
            .inconsistentGroupProtocol, .invalidTransactionTimeout, .unsupportedFeature,
        ]
        if denied.union(hopeless).contains(error.code) {
            self.init(.stop, error.description)
            return
        }
        switch error.remedy {
        case .abort: self.init(.abort, error.description)
        case .retry: self.init(.retry, error.description)
        case .startOver: self.init(.startOver, error.description)
        }
    }
}

/// Carries rebalances from the consumer's callback to the poll that caused it; both run on one thread.
private final class RebalanceQueue {
    private var rebalances: [Rebalance] = []

    func append(_ rebalance: Rebalance) { rebalances.append(rebalance) }

    func removeAll() { rebalances.removeAll() }

    func popFirst() -> Rebalance? { rebalances.isEmpty ? nil : rebalances.removeFirst() }
}
