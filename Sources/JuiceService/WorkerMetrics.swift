import JuiceEngine
import JuiceMessages
import Kafka
import Metrics
import Synchronization

/// The metrics of one worker.
///
/// Only the worker's thread calls it, except where a function says otherwise.
final class WorkerMetrics: Sendable {
    private struct State {
        var assignedAt: ContinuousClock.Instant?
        var restore = RestoreProgress()
        var stoppedPartitions: Set<Int32> = []
        var lag: ConsumerLag
    }

    /// How far a sender's clock may be ahead, in milliseconds.
    private static let mostAhead: Timestamp = 60_000

    /// What is counted in each transaction.
    private let counts: [(counter: Counter, field: KeyPath<TransactionSummary, Int> & Sendable)]
    private let committed: Counter
    private let failed: Counter
    private let transactionDuration: Timer
    private let answerLatency: Timer
    private let assignedPartitions: Gauge
    private let stoppedPartitions: Gauge
    private let stores: Gauge
    private let rememberedCommands: Gauge
    private let restoreDuration: Timer
    private let restoredRecords: Counter
    private let restoreRemaining: Gauge
    private let clients: [KafkaClient: KafkaClientMetrics]
    private let state: Mutex<State>

    init(worker: Int, topics: TopicNames, factory: any MetricsFactory) {
        let ofWorker = [("worker", "\(worker)")]
        counts = [
            (factory.counter(.commands, [("result", "juice_made")]), \.juicesMade),
            (factory.counter(.commands, [("result", "out_of_stock")]), \.outOfStock),
            (factory.counter(.commands, [("result", "restocked")]), \.restocked),
            (factory.counter(.commands, [("result", "cancelled")]), \.cancelled),
            (factory.counter(.commands, [("result", "rejected")]), \.rejected),
            (factory.counter(.duplicates), \.duplicates),
            (factory.counter(.deadLetters), \.deadLetters),
            (factory.counter(.forwards), \.forwarded),
            (factory.counter(.answersReadBack), \.answersReadBack),
        ]
        committed = factory.counter(.transactions, [("outcome", "committed")])
        failed = factory.counter(.transactions, [("outcome", "failed")])
        transactionDuration = factory.timer(.transactionDuration)
        answerLatency = factory.timer(.answerLatency)
        assignedPartitions = factory.gauge(.assignedPartitions, ofWorker)
        stoppedPartitions = factory.gauge(.stoppedPartitions, ofWorker)
        stores = factory.gauge(.stores, ofWorker)
        rememberedCommands = factory.gauge(.rememberedCommands, ofWorker)
        restoreDuration = factory.timer(.restoreDuration)
        restoredRecords = factory.counter(.restoredRecords)
        restoreRemaining = factory.gauge(.restoreRemaining, ofWorker)
        clients = KafkaClient.allCases.reduce(into: [:]) {
            $0[$1] = KafkaClientMetrics(ofWorker + [("client", $1.label)], factory)
        }
        state = Mutex(State(lag: ConsumerLag(topics: topics, factory: factory)))
        for gauge in [assignedPartitions, stoppedPartitions, stores, rememberedCommands, restoreRemaining] { gauge.record(0) }
    }

    /// Records an event of the worker.
    func record(_ event: WorkerEvent) {
        switch event {
        case .assigned: state.withLock { $0.assignedAt = .now }
        case .restored(let partitions, let restored):
            changeStopped { $0.subtract(partitions) }
            restoredRecords.increment(by: restored.records)
            let assignedAt = state.withLock { $0.assignedAt.take() }
            if let assignedAt { restoreDuration.record(duration: .now - assignedAt) }
        case .committed(let summary):
            for (counter, field) in counts where summary[keyPath: field] > 0 { counter.increment(by: summary[keyPath: field]) }
        case .partitionStopped(let partition, _), .partitionFailing(let partition, _): changeStopped { $0.insert(partition) }
        case .partitionRecovered(let partition): changeStopped { $0.remove(partition) }
        case .revoked, .left:
            state.withLock {
                $0.assignedAt = nil
                $0.lag.removeAll()
            }
            changeStopped { $0 = [] }
        case .started, .retrying, .startingOver, .stockRewritten, .failed: break
        }
    }

    private func changeStopped(_ change: (inout Set<Int32>) -> Void) {
        stoppedPartitions.record(
            state.withLock {
                change(&$0.stoppedPartitions)
                return $0.stoppedPartitions.count
            })
    }

    /// Records what the worker holds in memory.
    func record(_ held: HeldState) {
        assignedPartitions.record(held.partitions)
        stores.record(held.stores)
        rememberedCommands.record(held.commands)
    }

    /// Records a client's statistics, a JSON document of librdkafka's. May be called on any thread.
    func record(statistics json: String, of client: KafkaClient) {
        guard let statistics = KafkaStatistics(json) else { return }
        clients[client]?.record(statistics)
        if client == .consumer { state.withLock { $0.lag.record(statistics) } }
    }

    // MARK: - Transactions

    /// A transaction was committed, which answers the commands with these timestamps.
    func committed(after duration: Duration, commandTimes: [Timestamp], at now: Timestamp) {
        committed.increment()
        transactionDuration.record(duration: duration)
        // A sender's clock may be a little ahead, or its timestamp any number. What remains are latencies of at most a week.
        for time in commandTimes where time <= now + Self.mostAhead {
            guard let time = CommandTime.believed(min(time, now), readAt: now) else { continue }
            answerLatency.recordNanoseconds((now - time) * 1_000_000)
        }
    }

    /// A transaction was abandoned.
    func transactionFailed() { failed.increment() }

    // MARK: - Positions

    /// The worker begins to read commands from these positions.
    func started(at positions: [InputPosition]) {
        state.withLock { $0.lag.commit(positions) }
        changeRestore { $0 = RestoreProgress() }
    }

    /// The worker has told its group how far the inputs are read.
    func published(_ positions: [InputPosition]) { state.withLock { $0.lag.commit(positions) } }

    /// The worker has found where the logs end.
    func found(_ extents: [PartitionExtents]) { state.withLock { $0.restore.setEnds(extents) } }

    /// The worker begins to read the changelogs from these positions.
    func opened(_ positions: [ChangelogPosition]) { changeRestore { $0.begin(at: positions) } }

    /// The worker has read a batch of the changelogs.
    func read(_ batch: ChangelogBatch) { changeRestore { $0.advance(by: batch) } }

    private func changeRestore(_ change: (inout RestoreProgress) -> Void) {
        restoreRemaining.record(
            state.withLock {
                change(&$0.restore)
                return $0.restore.remaining
            })
    }
}

/// How much of the changelogs a restore still has to read.
struct RestoreProgress {
    private struct Changelog: Hashable {
        let topic: ChangelogTopic
        let partition: Int32
    }

    /// The offsets up to which partitions are read.
    private var ends: [Changelog: Offset] = [:]
    /// The next offset to read of each partition.
    private var positions: [Changelog: Offset] = [:]

    /// Sets how far the changelogs are to be read.
    mutating func setEnds(_ extents: [PartitionExtents]) {
        for extent in extents {
            ends[Changelog(topic: .stock, partition: extent.partition)] = extent.stock.upperBound
            ends[Changelog(topic: .results, partition: extent.partition)] = extent.results.upperBound
        }
    }

    /// Sets where reading begins.
    mutating func begin(at positions: [ChangelogPosition]) {
        self.positions = [:]
        for position in positions { advance(position.topic, position.partition, position.offset) }
    }

    /// Moves past the records and ends of a batch.
    mutating func advance(by batch: ChangelogBatch) {
        // Records come in runs of one topic partition: only the last of each run matters.
        for (index, record) in batch.records.enumerated() {
            let next = index + 1 < batch.records.count ? batch.records[index + 1] : nil
            guard next?.topic != record.topic || next?.partition != record.partition else { continue }
            advance(record.topic, record.partition, record.offset + 1)
        }
        for end in batch.ends { advance(end.topic, end.partition, end.offset) }
    }

    private mutating func advance(_ topic: ChangelogTopic, _ partition: Int32, _ offset: Offset) {
        positions[Changelog(topic: topic, partition: partition)] = offset
    }

    /// How many offsets remain to be read, markers and gaps included.
    var remaining: Int64 {
        positions.reduce(0) { sum, entry in sum + max(0, (ends[entry.key] ?? 0) - entry.value) }
    }
}

/// How far the committed offsets are behind the ends of the input partitions.
private struct ConsumerLag {
    private let topics: TopicNames
    private let factory: any MetricsFactory
    private var committed: [InputPartition: Offset] = [:]
    private var gauges: [InputPartition: (offset: Gauge, lag: Gauge)] = [:]

    init(topics: TopicNames, factory: any MetricsFactory) {
        self.topics = topics
        self.factory = factory
    }

    /// Sets the committed offsets.
    mutating func commit(_ positions: [InputPosition]) {
        for position in positions {
            committed[InputPartition(topic: position.topic, partition: position.partition)] = position.offset
        }
    }

    /// Records the lag, by the ends of partitions in the consumer's statistics. Partitions whose end it does not know yet have
    /// no lag.
    mutating func record(_ statistics: KafkaStatistics) {
        for (input, offset) in committed {
            guard let end = statistics.end(of: topics[input]) else { continue }
            let place = [("topic", topics[input.topic]), ("partition", "\(input.partition)")]
            let gauges = gauges[input] ?? (factory.gauge(.committedOffset, place), factory.gauge(.consumerLag, place))
            self.gauges[input] = gauges
            gauges.offset.record(offset)
            gauges.lag.record(max(0, end - offset))
        }
    }

    /// Forgets all partitions after a revocation: another instance reports them now.
    mutating func removeAll() {
        for (offset, lag) in gauges.values {
            offset.destroy()
            lag.destroy()
        }
        gauges = [:]
        committed = [:]
    }
}
