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
    private var hasCommands = false

    init(_ base: Base, metrics: WorkerMetrics?, tracer: BatchTracer?) {
        self.base = base
        self.metrics = metrics
        self.tracer = tracer
    }

    var now: Timestamp { base.now }

    func name(of topic: InputTopic) -> String { base.name(of: topic) }

    func writtenResults(of partition: Int32) -> [Range<Offset>] { base.writtenResults(of: partition) }

    func writtenStockEnd(of partition: Int32) -> Offset { base.writtenStockEnd(of: partition) }

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
            hasCommands = !records.isEmpty
            if metrics != nil {
                commandTimes.removeAll(keepingCapacity: true)
                for record in records { if let time = record.timestamp { commandTimes.append(time) } }
            }
            tracer?.polled(records, from: base)
        }
        return result
    }

    func headers(of record: CommandRecord) -> [MessageHeader] { base.headers(of: record) }

    func start(at positions: [InputPosition]) throws(LogError) {
        dropTransaction()
        try base.start(at: positions)
        metrics?.started(at: positions)
    }

    func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) {
        try base.readBack(ranges)
    }

    func publish(_ positions: [InputPosition]) {
        base.publish(positions)
        metrics?.published(positions)
    }

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        let found = try base.extents(of: partitions)
        metrics?.found(found.extents)
        return found
    }

    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: Offset] {
        try base.groupOffsets(of: partitions)
    }

    func confirmMembership(_ positions: [InputPosition]) throws(LogError) {
        try base.confirmMembership(positions)
    }

    func fence(_ ids: Set<String>) throws(LogError) -> Set<String> { try base.fence(ids) }

    func answerStarts(at positions: [InputPosition], retention: Timestamp) throws(LogError) -> [Int32: Offset] {
        try base.answerStarts(at: positions, retention: retention)
    }

    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try base.openChangelog(positions, isolation: isolation)
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
    func initTransactions() throws(LogError) -> [String] {
        dropTransaction()
        return try base.initTransactions()
    }

    func begin() throws(LogError) {
        try base.begin()
        begunAt = .now
        tracer?.began()
    }

    func produce(_ record: OutputRecord) throws(LogError) { try base.produce(record) }

    func flush() throws(LogError) { try base.flush() }

    func commit() throws(LogError) {
        try base.commit()
        // A transaction without commands is not measured.
        if let metrics, let begunAt, hasCommands {
            metrics.committed(after: .now - begunAt, commandTimes: commandTimes, at: base.now)
        }
        tracer?.ended(.committed)
        endTransaction()
    }

    private func endTransaction() {
        begunAt = nil
        hasCommands = false
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
