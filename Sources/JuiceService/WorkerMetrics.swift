import JuiceEngine
import JuiceMessages
import Metrics

/// The metrics of one worker. Only the worker's thread makes calls.
final class WorkerMetrics {
    private let topics: TopicNames
    private let factory: any MetricsFactory
    /// `counts` grow with each committed transaction, `held` is measured after each step.
    private let counts: [(counter: Counter, field: KeyPath<TransactionSummary, Int>)]
    private let held: [(gauge: Gauge, field: KeyPath<HeldState, Int>)]
    private let committed, failed, restoredRecords, lostBeginnings: Counter
    private let transactionDuration, answerLatency, restoreDuration: Timer
    private let stoppedPartitions, restoreRemaining: Gauge

    private var assignedAt: ContinuousClock.Instant?
    private var stopped: Set<Int32> = [] {
        didSet { stoppedPartitions.record(stopped.count) }
    }
    /// When the open transaction began; nil if none is open.
    private var begunAt: ContinuousClock.Instant?
    /// How many commands the next transaction answers, and their timestamps.
    private var commands = 0
    private var commandTimes: [Timestamp] = []
    /// The position in each input, as last published.
    private var positions: [InputPartition: Offset] = [:]
    private var lags: [InputPartition: (offset: Gauge, lag: Gauge)] = [:]
    private var lagDue = ContinuousClock.now

    init(worker number: Int, topics: TopicNames, factory: any MetricsFactory) {
        (self.topics, self.factory) = (topics, factory)
        counts =
            AnswerType.allCases.map { type in
                let isLost = type == .answerLost
                let counter = isLost ? factory.counter(.answersLost) : factory.counter(.commands, [("result", type.label)])
                return (counter, \.answers[type])
            } + [
                (factory.counter(.duplicates), \.duplicates), (factory.counter(.deadLetters), \.deadLetters),
                (factory.counter(.forwards), \.forwarded), (factory.counter(.answersReadBack), \.answersReadBack),
            ]
        committed = factory.counter(.transactions, [("outcome", "committed")])
        failed = factory.counter(.transactions, [("outcome", "failed")])
        restoredRecords = factory.counter(.restoredRecords)
        lostBeginnings = factory.counter(.lostBeginnings)
        transactionDuration = factory.timer(.transactionDuration)
        answerLatency = factory.timer(.answerLatency)
        restoreDuration = factory.timer(.restoreDuration)
        func gauge(_ metric: ServiceMetric) -> Gauge { factory.gauge(metric, [("worker", "\(number)")]) }
        held = [
            (gauge(.assignedPartitions), \.partitions), (gauge(.stores), \.stores), (gauge(.rememberedCommands), \.commands),
        ]
        stoppedPartitions = gauge(.stoppedPartitions)
        restoreRemaining = gauge(.restoreRemaining)
    }

    func record(_ event: WorkerEvent) {
        switch event {
        case .assigned: assignedAt = .now
        case .restored(let partitions, _, let records):
            stopped.subtract(partitions)
            restoredRecords.increment(by: records)
            if let assignedAt = assignedAt.take() { restoreDuration.record(duration: .now - assignedAt) }
        case .resumed(let partitions, _): stopped.subtract(partitions)
        case .committed(let summary):
            for (counter, field) in counts where summary[keyPath: field] > 0 { counter.increment(by: summary[keyPath: field]) }
        case .partitionStopped(let partition, _), .partitionFailing(let partition, _): stopped.insert(partition)
        case .partitionRecovered(let partition): stopped.remove(partition)
        case .revoked, .left:
            // Another instance reports the lag now.
            for gauges in lags.values {
                gauges.offset.destroy()
                gauges.lag.destroy()
            }
            (assignedAt, stopped, positions, lags) = (nil, [], [:], [:])
        case .answersDeleted: lostBeginnings.increment()
        case .started, .retrying, .startingOver, .clockRefused, .stockRewritten, .failed: break
        }
    }

    /// Records what the worker holds in memory, and how many offsets the restore under way still has to read.
    func record(_ state: HeldState, remaining: Offset) {
        for (gauge, field) in held { gauge.record(state[keyPath: field]) }
        restoreRemaining.record(remaining)
    }

    // MARK: - Transactions

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord]) {
        commands = records.count
        commandTimes.removeAll(keepingCapacity: true)
        commandTimes += records.lazy.compactMap(\.timestamp)
    }

    func began() { begunAt = .now }

    func committed(at now: Timestamp) {
        // A transaction without commands only claims partitions.
        if let begunAt, commands > 0 {
            committed.increment()
            transactionDuration.record(duration: .now - begunAt)
            // A sender's clock may be slightly ahead, and its timestamp may be any number. This leaves latencies of at most a week.
            for time in commandTimes where time <= now + ClockWatch.tolerance {
                guard let time = CommandTimes().believed(min(time, now), readAt: now) else { continue }
                answerLatency.recordNanoseconds((now - time) * 1_000_000)
            }
        }
        (begunAt, commands) = (nil, 0)
        commandTimes.removeAll(keepingCapacity: true)
    }

    /// The worker starts over, and has abandoned its open transaction, if any.
    func abandoned() {
        guard begunAt != nil else { return }
        failed.increment()
        (begunAt, commands, commandTimes) = (nil, 0, [])
    }

    // MARK: - Lag

    /// The worker begins to read commands from these positions, or has reported them to its group.
    func published(_ offsets: some Sequence<(InputPartition, Offset)>) { positions.merge(offsets) { $1 } }

    /// Measures the lag of each input, once a second. An input whose end is unknown has none.
    func measureLag(at now: ContinuousClock.Instant = .now, end: (InputPartition) -> Offset?) {
        guard lagDue <= now else { return }
        lagDue = now + .seconds(1)
        for (input, offset) in positions {
            guard let end = end(input) else { continue }
            let place = [("topic", topics[input.topic]), ("partition", "\(input.partition)")]
            let gauges = lags[input] ?? (factory.gauge(.committedOffset, place), factory.gauge(.consumerLag, place))
            lags[input] = gauges
            gauges.offset.record(offset)
            gauges.lag.record(max(0, end - offset))
        }
    }
}

extension AnswerType {
    /// The value of the label `result`, such as `juice_made`.
    fileprivate var label: String { name.replacing(/[A-Z]/) { "_" + $0.output.lowercased() } }
}
