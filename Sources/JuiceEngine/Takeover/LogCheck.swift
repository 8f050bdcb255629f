import JuiceMessages

/// Checks now and then whether the logs of a worker's partitions are still the ones that it read and wrote: a state machine
/// without access to the log.
///
/// A topic that is deleted and made anew has the same name, and a partition whose leader was elected uncleanly lacks its last
/// records. Reading and writing go on in both, so nothing else tells.
struct LogCheck {
    enum Action: Equatable {
        case findExtents([Int32])
        case openChangelog([ChangelogPosition])
        case readChangelog
        case readBack([InputPartition: Range<Offset>])
        case finish
    }

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

    var action: Action {
        switch stage {
        case .extents: .findExtents((partitions + stopped.keys).sorted())
        case .openingJournals:
            .openChangelog(
                unread.map { ChangelogPosition(topic: .results, partition: $0, offset: $1.lowerBound) }.sorted {
                    $0.partition < $1.partition
                })
        case .journals: .readChangelog
        // The log would go on to fetch all that is written from now on.
        case .closingJournals: .openChangelog([])
        case .inputs: .readBack(ranges)
        case .done: .finish
        }
    }

    private var ranges: [InputPartition: Range<Offset>] {
        evidence.values.reduce(into: [:]) { $0.merge($1.ranges) { $1 } }
    }

    /// The log says where the logs begin and end.
    mutating func found(_ extents: [PartitionExtents], partitions: PartitionTable) {
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
                    let input = InputPartition(topic: position.topic, partition: position.partition)
                    return extent.inputs[input].map { $0.upperBound < position.offset } ?? false
                }
        }
        stage = .openingJournals
        if unread.isEmpty { opened() }
    }

    /// The journals that have grown are open, if any.
    mutating func opened() {
        guard unread.isEmpty else { return stage = .journals }
        stage = ranges.isEmpty ? .done : .inputs
    }

    /// The next records of the journals.
    mutating func read(_ batch: ChangelogBatch) {
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
    mutating func compare(_ records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) {
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
