import JuiceMessages

/// Checks whether the logs of a worker's partitions are still the ones that it read and wrote: see "Whether it is the same log" in
/// docs/JOURNAL.md.
final class LogCheck {
    private enum Stage { case extents, transactions, journals, inputs, done }

    private let partitions: [Int32]
    /// The journal ends of stopped partitions.
    private let stopped: [Int32: Offset]
    /// Partitions that wait for another program's transaction to end, and those whose wait is over.
    private let waiting: [Int32]
    private(set) var freed: [Int32] = []
    private var stage = Stage.extents
    private var evidence: [InputFingerprints] = []
    private var extents: [Int32: PartitionExtents] = [:]
    /// The parts to read: of journals that have grown, and of stock that another program may have written to.
    private var unread: [ChangelogReading.Part] = []
    private var reading = ChangelogReading()
    /// The keys of each partition's stock whose last record is another program's.
    private var foreignStock: [Int32: Set<[UInt8]>] = [:]
    /// The offsets of this worker's claims. Only a later claim must be another worker's.
    private var claims: [Int32: Offset] = [:]
    private(set) var mismatches: [InputMismatch] = []
    /// Whether another takeover would find something: another worker's claim, a position outside its log, or a journal or stock
    /// that has lost records.
    private(set) var mustTakeOver = false

    /// How many of the last records to search for another worker's claim: this worker can write nothing after it.
    private static let lastRecords: Offset = 16

    init(_ partitions: [Int32], stopped: [Int32: Offset], waiting: [Int32]) {
        (self.partitions, self.stopped, self.waiting) = (partitions, stopped, waiting)
    }

    var isDone: Bool { stage == .done }

    /// Makes the next call on the log.
    func step(on log: some KafkaPort, partitions: PartitionTable, context: WorkerContext) throws(LogError) {
        switch stage {
        case .extents:
            // A partition without a leader shows in its transactions.
            found(try log.extents(of: (self.partitions + stopped.keys + waiting).sorted()).extents, partitions: partitions)
        case .transactions:
            let open = try log.openTransactions(in: waiting.compactMap { extents[$0] })
            freed = waiting.filter { partition in extents[partition] != nil && !open.contains { $0.partition == partition } }
            beginReading()
        case .journals:
            // The next takeover finds any damage.
            _ = try reading.step(on: log) { self.read($0, partitions, by: context.stockRestorer) }
            if reading.isDone { stage = ranges.isEmpty ? .done : .inputs }
        case .inputs:
            let (records, damaged) = try log.readBack(ranges)
            mismatches = evidence.flatMap { $0.mismatches(with: records, damaged: damaged, by: context.commandReaders.0) }
            stage = .done
        case .done: break
        }
    }

    private var ranges: [InputPartition: Range<Offset>] { evidence.reduce(into: [:]) { $0.merge($1.ranges) { $1 } } }

    private func found(_ extents: [PartitionExtents], partitions: PartitionTable) {
        for extent in extents {
            let (partition, end) = (extent.partition, extent.results.upperBound)
            self.extents[partition] = extent
            let first = max(extent.results.lowerBound, end - Self.lastRecords)
            func read(_ topic: ChangelogTopic, _ offsets: Range<Offset>) {
                unread.append(ChangelogReading.Part(topic: topic, partition: partition, offsets: offsets))
            }
            if let known = stopped[partition] {
                if end != known { read(.results, min(max(first, known), end)..<end) }
                continue
            }
            guard let state = partitions[partition] else { continue }
            state.compare(extent)
            if end != state.seenResults { read(.results, first..<end) }
            if let stock = state.unexplainedStock(in: extent) { read(.stock, stock) }
            claims[partition] = state.claim
            evidence.append(state.applied.evidence.sinceCheck(in: extent))
            let isBeyond = state.positions.contains { $0.offset > extent.inputs[$0.input]?.upperBound ?? .max }
            mustTakeOver = mustTakeOver || !state.truncated.isEmpty || isBeyond
        }
        if waiting.isEmpty { beginReading() } else { stage = .transactions }
    }

    private func beginReading() {
        // A reader of committed records stops at the last stable offset, for example before another program's open transaction.
        reading = ChangelogReading(unread, isolation: .uncommitted, closes: true)
        stage = !reading.isDone ? .journals : ranges.isEmpty ? .done : .inputs
    }

    /// The next records of one partition's journal or stock.
    private func read(_ records: ArraySlice<ChangelogBatch.Record>, _ partitions: PartitionTable, by reader: StockRestorer) {
        for record in records {
            if record.topic == .stock {
                let key = record.key.map { Array($0) } ?? []
                if partitions[record.partition]?.explains(record, by: reader) ?? true {
                    foreignStock[record.partition]?.remove(key)
                } else {
                    foreignStock[record.partition, default: []].insert(key)
                }
            } else if let value = record.value, case .claim = JournalNote(value), record.offset > claims[record.partition] ?? -1 {
                mustTakeOver = true
            }
        }
    }

    /// Passes the findings on to a state, if its logs are still the same.
    ///
    /// - Returns: what the worker has to report.
    func confirm(_ state: PartitionState, at now: Timestamp, _ uptime: Timestamp, retention: Timestamp) -> [WorkerEvent] {
        guard let extents = extents[state.partition], !mismatches.contains(where: { $0.input.partition == state.partition }) else {
            return []
        }
        let isRewritten = state.repairStock(in: extents, isForeign: !(foreignStock[state.partition] ?? []).isEmpty, at: uptime)
        let missing = state.missesAnswers(in: extents, at: now, retention: retention)
        state.see(extents)
        state.applied.evidence.thin()
        return (isRewritten ? [.stockRewritten(state.partition)] : [])
            + (missing.map { [.answersDeleted(state.partition, until: $0)] } ?? [])
    }
}
