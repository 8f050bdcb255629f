import JuiceEngine
import JuiceMessages
import Kafka
import Metrics
import Synchronization

/// The metrics of one worker. Its thread makes all calls, but clients' statistics may come on any thread.
final class WorkerMetrics: Sendable {
    private struct State {
        var assignedAt: ContinuousClock.Instant?
        /// When the open transaction was begun; nil while none is open.
        var begunAt: ContinuousClock.Instant?
        /// How many commands the next transaction answers, and when they were sent.
        var commands = 0
        var commandTimes: [Timestamp] = []
        var stoppedPartitions: Set<Int32> = []
        /// How far each input is read, as last published.
        var committed: [InputPartition: Offset] = [:]
        var lags: [InputPartition: (offset: Gauge, lag: Gauge)] = [:]

        mutating func forgetTransaction() {
            (begunAt, commands) = (nil, 0)
            commandTimes.removeAll(keepingCapacity: true)
        }
    }

    private let topics: TopicNames
    private let factory: any MetricsFactory
    private let worker: (String, String)
    /// What is counted in each transaction, and measured after each step.
    private let counts: [(counter: Counter, field: KeyPath<TransactionSummary, Int> & Sendable)]
    private let held: [(gauge: Gauge, field: KeyPath<HeldState, Int> & Sendable)]
    private let committed, failed, restoredRecords, lostBeginnings: Counter
    private let transactionDuration, answerLatency, restoreDuration: Timer
    private let stoppedPartitions, restoreRemaining: Gauge
    private let state = Mutex(State())

    init(worker number: Int, topics: TopicNames, factory: any MetricsFactory) {
        let worker = ("worker", "\(number)")
        (self.topics, self.factory, self.worker) = (topics, factory, worker)
        func commands(_ result: String) -> Counter { factory.counter(.commands, [("result", result)]) }
        counts = [
            (commands("juice_made"), \.juicesMade), (commands("out_of_stock"), \.outOfStock),
            (commands("restocked"), \.restocked), (commands("cancelled"), \.cancelled), (commands("rejected"), \.rejected),
            (factory.counter(.duplicates), \.duplicates), (factory.counter(.answersLost), \.answersLost),
            (factory.counter(.deadLetters), \.deadLetters),
            (factory.counter(.forwards), \.forwarded), (factory.counter(.answersReadBack), \.answersReadBack),
        ]
        committed = factory.counter(.transactions, [("outcome", "committed")])
        failed = factory.counter(.transactions, [("outcome", "failed")])
        restoredRecords = factory.counter(.restoredRecords)
        lostBeginnings = factory.counter(.lostBeginnings)
        transactionDuration = factory.timer(.transactionDuration)
        answerLatency = factory.timer(.answerLatency)
        restoreDuration = factory.timer(.restoreDuration)
        func gauge(_ metric: ServiceMetric) -> Gauge {
            let gauge = factory.gauge(metric, [worker])
            gauge.record(0)
            return gauge
        }
        held = [
            (gauge(.assignedPartitions), \.partitions), (gauge(.stores), \.stores), (gauge(.rememberedCommands), \.commands),
        ]
        stoppedPartitions = gauge(.stoppedPartitions)
        restoreRemaining = gauge(.restoreRemaining)
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
            state.withLock { state in
                // Another instance reports the lag now.
                for gauges in state.lags.values {
                    gauges.offset.destroy()
                    gauges.lag.destroy()
                }
                (state.assignedAt, state.committed, state.lags) = (nil, [:], [:])
            }
            changeStopped { $0 = [] }
        case .answersDeleted: lostBeginnings.increment()
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
    func record(_ state: HeldState) { for (gauge, field) in held { gauge.record(state[keyPath: field]) } }

    // MARK: - Transactions

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord]) {
        state.withLock { state in
            state.commands = records.count
            state.commandTimes.removeAll(keepingCapacity: true)
            state.commandTimes += records.lazy.compactMap(\.timestamp)
        }
    }

    func began() { state.withLock { $0.begunAt = .now } }

    func committed(at now: Timestamp) {
        state.withLock { state in
            defer { state.forgetTransaction() }
            // A transaction without commands only claims partitions.
            guard let begunAt = state.begunAt, state.commands > 0 else { return }
            committed.increment()
            transactionDuration.record(duration: .now - begunAt)
            // A sender's clock may be a little ahead, or its timestamp any number. What remains are latencies of at most a week.
            for time in state.commandTimes where time <= now + ClockWatch.tolerance {
                guard let time = CommandTime.believed(min(time, now), readAt: now) else { continue }
                answerLatency.recordNanoseconds((now - time) * 1_000_000)
            }
        }
    }

    /// The worker starts over. If a transaction is open, it has abandoned it.
    func abandoned() {
        state.withLock { state in
            guard state.begunAt != nil else { return }
            failed.increment()
            state.forgetTransaction()
        }
    }

    // MARK: - Positions

    /// The worker begins to read commands from these positions.
    func started(at positions: [InputPosition]) {
        published(Dictionary(positions.map { ($0.input, $0.offset) }) { $1 })
    }

    /// The worker has reported to its group how far the inputs are read.
    func published(_ offsets: [InputPartition: Offset]) { state.withLock { $0.committed.merge(offsets) { $1 } } }

    /// How many offsets the restore under way still has to read.
    func restoring(_ remaining: Offset) { restoreRemaining.record(remaining) }

    // MARK: - Clients

    /// The same hooks, which also measure a client by its statistics: the consumer, or the producer of this number.
    func measuring(_ hooks: ClientHooks, producer: Int? = nil) -> ClientHooks {
        let client = [worker, ("client", producer.map { "producer-\($0)" } ?? "consumer")]
        let median = factory.gauge(.kafkaRoundTripMedian, client)
        let tail = factory.gauge(.kafkaRoundTripTail, client)
        var hooks = hooks
        hooks.onStatistics = { [self] json in
            guard let statistics = KafkaStatistics(json) else { return }
            median.record(statistics.roundTripMedian)
            tail.record(statistics.roundTripTail)
            guard producer == nil else { return }
            state.withLock { state in
                for (input, offset) in state.committed {
                    // A partition whose end the consumer does not know yet has no lag.
                    guard let end = statistics.end(of: topics[input]) else { continue }
                    let place = [("topic", topics[input.topic]), ("partition", "\(input.partition)")]
                    let gauges = state.lags[input] ?? (factory.gauge(.committedOffset, place), factory.gauge(.consumerLag, place))
                    state.lags[input] = gauges
                    gauges.offset.record(offset)
                    gauges.lag.record(max(0, end - offset))
                }
            }
        }
        return hooks
    }
}
