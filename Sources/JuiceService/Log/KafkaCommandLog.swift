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

    private let consumer: Consumer
    private var producers: ProducerPair?
    private var changelog: ChangelogReader?

    /// Rebalances told during the last poll and not yet handed on.
    private let rebalances = RebalanceQueue()
    private var startedPartitions: [TopicPartition] = []
    private var membership: ConsumerGroupMetadata?
    /// The records of the last poll; kept to reuse their memory.
    private var records: [CommandRecord] = []
    /// What the open transaction commits; the embedded broker has to be told twice.
    private var sentOffsets: [TopicPartition: Offset] = [:]

    private static let callTimeout = Duration.seconds(1)

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
        hooks = ClientHooks(logger: logger, onError: { watch.noticed($0) })
        consumer = try Consumer(configuration: configuration.groupConsumer(worker: worker), hooks: hooks)
        try consumer.subscribe(to: InputTopic.allCases.map { configuration.topics[$0] }) { [rebalances] in
            rebalances.append($0)
            // Reading begins with `start`, once the state is restored.
            return .hold
        }
    }

    func name(of topic: InputTopic) -> String { configuration.topics[topic] }

    func leave() {
        // Producers first: a consumer that has left can no longer be the reason for anything they commit.
        producers = nil
        changelog = nil
        consumer.close()
    }
}

// MARK: - Input

extension KafkaCommandLog {
    func poll(maxRecords: Int, wait: Bool) throws(LogError) -> PollResult {
        records.removeAll(keepingCapacity: true)
        if let result = try nextRebalance() { return result }
        if wait, watch.isUnreachable { probe() }

        let batch: RecordBatch
        do throws(KafkaError) {
            batch = try consumer.poll(maxRecords: maxRecords, timeout: wait ? .milliseconds(100) : .zero)
        } catch {
            throw LogError(.stop, fatalMessage(error))
        }
        // A change of the assignment makes the records of the same poll void: nothing is read under the new one
        // before `start`.
        if let result = try nextRebalance() { return result }

        if batch.count == maxRecords { wakeFetchers() }
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
                watch.noticed(error)
            }
        }
        return .records(records)
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
            topic: record.topic == configuration.topics.orders ? .orders : .restocks,
            partition: record.partition,
            offset: record.offset,
            key: record.key,
            value: record.value,
            headers: record.headers.map { Header(name: $0.name, value: $0.value) }
        )
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
            membership = nil
            return .revoked
        case .failed(let error):
            watch.noticed(error)
            return .revoked
        }
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
                    + " subscribe to both with partition.assignment.strategy=range"
            )
        }
        return first
    }

    /// While no broker could be reached, asks for one now and then: nothing else would tell that it is back.
    private func probe() {
        if (try? consumer.metadata(topics: [configuration.topics.orders], timeout: .milliseconds(500))) != nil
        {
            watch.reached()
        }
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
            return try findRestorePoints(of: partitions)
        } catch {
            throw LogError(error)
        }
    }

    private func findRestorePoints(of partitions: [Int32]) throws(KafkaError) -> [RestorePoint] {
        let topics = configuration.topics
        let inputs = InputTopic.allCases.flatMap { topic in
            partitions.map { TopicPartition(topic: topics[topic], partition: $0) }
        }
        let committed = try consumer.committed(inputs, timeout: Self.callTimeout)

        // Read from here on: whatever those offsets cover was written to the changelog before.
        let logEnds = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
        func input(_ topic: String, _ partition: Int32) throws(KafkaError) -> RestorePoint.Input {
            let partition = TopicPartition(topic: topic, partition: partition)
            let log = try logEnds.watermarks(of: partition, timeout: Self.callTimeout)
            return RestorePoint.Input(committed: committed[partition] ?? nil, log: log.low..<log.high)
        }
        var points: [RestorePoint] = []
        for partition in partitions {
            let stock = TopicPartition(topic: topics.stock, partition: partition)
            points.append(
                RestorePoint(
                    partition: partition,
                    orders: try input(topics.orders, partition),
                    restocks: try input(topics.restocks, partition),
                    changelogEnd: try logEnds.watermarks(of: stock, timeout: Self.callTimeout).high
                )
            )
        }
        return points
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
            try pair?.current.begin()
        }
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        let partition =
            record.topic == .deadLetters ? record.partition % deadLetterPartitions : record.partition
        let headers = record.headers.map { RecordHeader(name: $0.name, value: $0.value) }
        try onProducers { (pair) throws(KafkaError) in
            guard let pair else { throw Self.noProducer }
            try Self.produce(
                record,
                to: pair.topic(record.topic),
                partition: partition,
                headers: headers,
                of: pair.current
            )
        }
    }

    /// Produces, and while the producer's queue is full waits for some of it to be sent. Whatever keeps one record out
    /// keeps the transaction from being complete, so every failure requires an abort.
    private static func produce(
        _ record: OutputRecord,
        to topic: TransactionalTopic,
        partition: Int32,
        headers: [RecordHeader],
        of producer: TransactionalProducer
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            do throws(KafkaError) {
                return try topic.produce(
                    partition: partition,
                    key: record.key,
                    value: record.value,
                    headers: headers
                )
            } catch {
                guard error.code == .queueFull, ContinuousClock.now < deadline else {
                    throw KafkaError(code: error.code, message: error.message, requiresAbort: true)
                }
                producer.poll(timeout: .milliseconds(10))
            }
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
            try pair?.current.sendOffsets(sentOffsets, membership: membership, timeout: Self.callTimeout)
        }
    }

    func commit() throws(LogError) {
        try onProducers { (pair) throws(KafkaError) in
            try pair?.current.commit(timeout: Self.callTimeout)
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
            try pair?.current.abort(timeout: Self.callTimeout)
        }
    }

    private static let noProducer = KafkaError(code: .state, message: "no producer is initialised")

    /// Makes a call on the producers, and drops them when it leaves them useless.
    private func onProducers(
        _ body: (inout ProducerPair?) throws(KafkaError) -> Void
    ) throws(LogError) {
        do throws(KafkaError) {
            try body(&producers)
        } catch {
            if error.remedy == .startOver { producers = nil }
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
        if denied.contains(error.code) {
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

    func popFirst() -> Rebalance? { rebalances.isEmpty ? nil : rebalances.removeFirst() }
}
