import JuiceEngine

/// Measures a worker's transactions.
final class TransactionObserver {
    private let metrics: WorkerMetrics?
    /// When the open transaction was begun; nil while none is open.
    private var begunAt: ContinuousClock.Instant?
    /// How many commands the next transaction answers, and when they were sent.
    private var commands = 0
    private var commandTimes: [Timestamp] = []

    init(metrics: WorkerMetrics?) { self.metrics = metrics }

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord]) {
        forgetCommands()
        commands = records.count
        if metrics != nil { commandTimes += records.lazy.compactMap(\.timestamp) }
    }

    func began() { begunAt = .now }

    func committed(at now: Timestamp) {
        // A transaction without commands only claims partitions.
        if let begunAt, commands > 0 { metrics?.committed(after: .now - begunAt, commandTimes: commandTimes, at: now) }
        begunAt = nil
        forgetCommands()
    }

    /// The worker starts over. If a transaction is open, it has abandoned it.
    func abandoned() {
        guard begunAt.take() != nil else { return }
        metrics?.transactionFailed()
        forgetCommands()
    }

    private func forgetCommands() {
        commands = 0
        commandTimes.removeAll(keepingCapacity: true)
    }
}
