import JuiceMessages

/// Checks whether the logs of a worker's partitions are still the ones that it read and wrote.
///
/// A topic that is deleted and made anew has the same name, and a partition whose leader was elected uncleanly lacks its last
/// records. Reading and writing go on in both, so nothing else tells.
final class LogCheck {
    private enum Stage { case extents, openingJournals, journals, closingJournals, inputs, done }

    private let partitions: [Int32]
    /// The journal ends of stopped partitions.
    private let stopped: [Int32: Offset]
    private var stage = Stage.extents
    private var evidence: [Int32: LogEvidence] = [:]
    private var extents: [Int32: PartitionExtents] = [:]
    /// The journals that have grown, and up to where.
    private var unread: [Int32: Range<Offset>] = [:]
    /// Where this worker's claims stand. Earlier ones may be its own.
    private var claims: [Int32: Offset] = [:]
    private(set) var mismatches: [InputMismatch] = []
    /// Whether taking the partitions over anew would find something: another's claim, a position outside of its log, or a journal
    /// or stock that lost records.
    private(set) var mustTakeOver = false

    /// How many of the last records tell whether somebody else has claimed a partition: nothing of this worker's can follow.
    private static let lastRecords: Offset = 16

    init(_ partitions: [Int32], stopped: [Int32: Offset]) {
        (self.partitions, self.stopped) = (partitions, stopped)
    }

    var isDone: Bool { stage == .done }

    /// Makes the next call on the log.
    func step(on log: some CommandLog, partitions: PartitionTable, reader: CommandReader) throws(LogError) {
        switch stage {
        case .extents:
            // A partition without a leader is found out by its transactions.
            found(try log.extents(of: (self.partitions + stopped.keys).sorted()).extents, partitions: partitions)
        case .openingJournals:
            let positions = unread.map { ChangelogPosition(topic: .results, partition: $0, offset: $1.lowerBound) }
            try log.openChangelog(positions.sorted { $0.partition < $1.partition }, isolation: .committed)
            stage = .journals
        case .journals: read(try log.readChangelog())
        case .closingJournals:
            // The log would go on to fetch all that is written from now on.
            try log.openChangelog([], isolation: .committed)
            stage = ranges.isEmpty ? .done : .inputs
        case .inputs:
            let (records, damaged) = try log.readBack(ranges)
            compare(records, damaged: damaged, by: reader)
        case .done: break
        }
    }

    private var ranges: [InputPartition: Range<Offset>] {
        evidence.values.reduce(into: [:]) { $0.merge($1.ranges) { $1 } }
    }

    private func found(_ extents: [PartitionExtents], partitions: PartitionTable) {
        for extent in extents {
            let (partition, end) = (extent.partition, extent.results.upperBound)
            self.extents[partition] = extent
            let first = max(extent.results.lowerBound, end - Self.lastRecords)
            if let known = stopped[partition] {
                if end != known { unread[partition] = min(max(first, known), end)..<end }
                continue
            }
            guard let state = partitions[partition] else { continue }
            state.compare(extent)
            if end != state.seenResults { unread[partition] = first..<end }
            claims[partition] = state.claim
            evidence[partition] = LogEvidence(since: state, in: extent)
            mustTakeOver =
                mustTakeOver || !state.rewound.isEmpty
                || state.positions.contains { position in
                    extent.inputs[position.input].map { $0.upperBound < position.offset } ?? false
                }
        }
        stage = !unread.isEmpty ? .openingJournals : ranges.isEmpty ? .done : .inputs
    }

    /// The next records of the journals.
    private func read(_ batch: ChangelogBatch) {
        for record in batch.records where unread[record.partition] != nil {
            if let value = record.value, case .claim = JournalNote(value), record.offset > claims[record.partition] ?? -1 {
                mustTakeOver = true
            }
            if record.offset + 1 >= unread[record.partition]?.upperBound ?? 0 { unread[record.partition] = nil }
        }
        // The last stable offset will do: what is undecided there is this worker's, or nobody's.
        for end in batch.ends { unread[end.partition] = nil }
        for place in batch.damages.keys { unread[place.partition] = nil }
        if unread.isEmpty { stage = .closingJournals }
    }

    /// Ranges of the inputs were read again.
    private func compare(_ records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) {
        for (_, evidence) in evidence.sorted(by: { $0.key < $1.key }) {
            if let mismatch = evidence.mismatch(with: records, damaged: damaged, by: reader) { mismatches.append(mismatch) }
        }
        stage = .done
    }

    /// Lets a state know what was found, if its logs are the ones that they were.
    func confirm(_ state: PartitionState) {
        guard let extents = extents[state.partition], !mismatches.contains(where: { $0.input.partition == state.partition }) else {
            return
        }
        state.see(extents)
        state.applied.answered.thin()
    }
}
