import JuiceEngine
import JuiceMessages
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

    private let juicesMade: Counter
    private let outOfStock: Counter
    private let restocked: Counter
    private let cancelled: Counter
    private let rejected: Counter
    private let duplicates: Counter
    private let deadLetters: Counter
    private let forwards: Counter
    private let committed: Counter
    private let failed: Counter
    private let transactionDuration: Timer
    private let answerLatency: Timer
    private let assignedPartitions: Gauge
    private let stoppedPartitions: Gauge
    private let stores: Gauge
    private let rememberedCommands: Gauge
    private let answersReadBack: Counter
    private let restoreDuration: Timer
    private let restoredRecords: Counter
    private let restoreRemaining: Gauge
    private let clients: [KafkaClient: KafkaClientMetrics]
    private let state: Mutex<State>

    init(worker: Int, topics: TopicNames, factory: any MetricsFactory) {
        let ofWorker = [("worker", "\(worker)")]
        juicesMade = factory.counter(.commands, [("result", "juice_made")])
        outOfStock = factory.counter(.commands, [("result", "out_of_stock")])
        restocked = factory.counter(.commands, [("result", "restocked")])
        cancelled = factory.counter(.commands, [("result", "cancelled")])
        rejected = factory.counter(.commands, [("result", "rejected")])
        duplicates = factory.counter(.duplicates)
        deadLetters = factory.counter(.deadLetters)
        forwards = factory.counter(.forwards)
        committed = factory.counter(.transactions, [("outcome", "committed")])
        failed = factory.counter(.transactions, [("outcome", "failed")])
        transactionDuration = factory.timer(.transactionDuration)
        answerLatency = factory.timer(.answerLatency)
        assignedPartitions = factory.gauge(.assignedPartitions, ofWorker)
        stoppedPartitions = factory.gauge(.stoppedPartitions, ofWorker)
        stores = factory.gauge(.stores, ofWorker)
        rememberedCommands = factory.gauge(.rememberedCommands, ofWorker)
        answersReadBack = factory.counter(.answersReadBack)
        restoreDuration = factory.timer(.restoreDuration)
        restoredRecords = factory.counter(.restoredRecords)
        restoreRemaining = factory.gauge(.restoreRemaining, ofWorker)
        clients = Dictionary(
            uniqueKeysWithValues: KafkaClient.allCases.map {
                ($0, KafkaClientMetrics(worker: worker, client: $0, factory: factory))
            })
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
        case .committed(let summary): record(summary)
        case .partitionStopped(let partition, _), .partitionFailing(let partition, _): changeStopped { $0.insert(partition) }
        case .partitionRecovered(let partition): changeStopped { $0.remove(partition) }
        case .revoked, .left:
            state.withLock {
                $0.assignedAt = nil
                $0.stoppedPartitions = []
                $0.lag.removeAll()
            }
            stoppedPartitions.record(0)
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

    private func record(_ summary: TransactionSummary) {
        let counts = [
            (juicesMade, summary.juicesMade), (outOfStock, summary.outOfStock),
            (restocked, summary.restocked), (cancelled, summary.cancelled),
            (rejected, summary.rejected), (duplicates, summary.duplicates),
            (deadLetters, summary.deadLetters),
            (forwards, summary.forwarded), (answersReadBack, summary.answersReadBack),
        ]
        for (counter, count) in counts where count > 0 { counter.increment(by: count) }
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
}

// MARK: - The log

extension WorkerMetrics {
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

    /// The worker has told its group how far the inputs are read.
    func published(_ positions: [InputPosition]) { state.withLock { $0.lag.commit(positions) } }

    /// A transaction was abandoned.
    func transactionFailed() { failed.increment() }

    /// The worker begins to read commands from these positions.
    func started(at positions: [InputPosition]) {
        restoreRemaining.record(0)
        state.withLock {
            $0.restore = RestoreProgress()
            $0.lag.commit(positions)
        }
    }

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
