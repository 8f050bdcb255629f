import JuiceEngine

/// Passes every call on to another log unchanged and reports its outcome to metrics and traces.
final class ObservedLog<Base: CommandLog>: CommandLog {
    private let base: Base
    private let metrics: WorkerMetrics?
    private let tracer: BatchTracer?

    /// When the open transaction was begun.
    private var begunAt: ContinuousClock.Instant?
    /// The timestamps of the commands polled last, which the next transaction answers.
    private var commandTimes: [Timestamp] = []
    private var sentPositions: [InputPosition] = []
    private var hasRecords = false

    init(_ base: Base, metrics: WorkerMetrics?, tracer: BatchTracer?) {
        self.base = base
        self.metrics = metrics
        self.tracer = tracer
    }

    var now: Timestamp { base.now }

    func name(of topic: InputTopic) -> String { base.name(of: topic) }

    func leave() {
        dropTransaction()
        base.leave()
    }
}

// MARK: - Input and restoring

extension ObservedLog {
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        let result = try base.poll(maxRecords: maxRecords, wait: wait)
        if case .records(let records, _) = result {
            if metrics != nil {
                commandTimes.removeAll(keepingCapacity: true)
                for record in records { if let time = record.timestamp { commandTimes.append(time) } }
            }
            tracer?.polled(records, from: base)
        }
        return result
    }

    func headers(of record: CommandRecord) -> [RecordHeader] { base.headers(of: record) }

    func start(at positions: [InputPosition]) throws(LogError) {
        dropTransaction()
        try base.start(at: positions)
        metrics?.started(at: positions)
    }

    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        let found = try base.restorePoints(of: partitions, retention: retention)
        metrics?.found(found.points)
        return found
    }

    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {
        try base.openChangelog(positions)
        metrics?.opened(positions)
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        let batch = try base.readChangelog()
        metrics?.read(batch)
        return batch
    }
}

// MARK: - Transactions

extension ObservedLog {
    func initTransactions() throws(LogError) {
        dropTransaction()
        try base.initTransactions()
    }

    func begin() throws(LogError) {
        try base.begin()
        begunAt = .now
        tracer?.began()
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        hasRecords = true
        try base.produce(record)
    }

    func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        try base.sendOffsets(positions)
        sentPositions = positions
    }

    func commit() throws(LogError) {
        try base.commit()
        // A transaction that only claims partitions or passes markers is not measured.
        if let metrics, let begunAt, hasRecords {
            metrics.committed(
                after: .now - begunAt,
                commandTimes: commandTimes,
                at: base.now,
                positions: sentPositions
            )
        }
        tracer?.ended(.committed)
        endTransaction()
    }

    private func endTransaction() {
        begunAt = nil
        hasRecords = false
        sentPositions = []
        commandTimes.removeAll(keepingCapacity: true)
    }

    /// If a transaction is open when reading or writing begins again, the worker has abandoned it.
    private func dropTransaction() {
        guard begunAt != nil else { return }
        metrics?.transactionFailed()
        tracer?.ended(.failed)
        endTransaction()
    }
}
