import JuiceMessages

/// Checks whether the logs of a worker's partitions are still the ones that it read and wrote: see "Whether it is the same log" in
/// docs/JOURNAL.md.
final class LogCheck {
    private enum Stage { case extents, transactions, openingJournals, journals, closingJournals, inputs, done }

    private let partitions: [Int32]
    /// The journal ends of stopped partitions.
    private let stopped: [Int32: Offset]
    /// Partitions that are not taken over before another program's transaction ends, and those of which it has ended.
    private let waiting: [Int32]
    private(set) var freed: [Int32] = []
    private var stage = Stage.extents
    private var evidence: [InputFingerprints] = []
    private var extents: [Int32: PartitionExtents] = [:]
    /// The parts to read of the journals that have grown, and of stock that somebody else may have written to.
    private var unread: [ChangelogTopic: [Int32: Range<Offset>]] = [.results: [:], .stock: [:]]
    /// How many records were read of each partition's stock.
    private var stockRecords: [Int32: Int] = [:]
    /// Where this worker's claims stand. Earlier ones may be its own.
    private var claims: [Int32: Offset] = [:]
    private(set) var mismatches: [InputMismatch] = []
    /// Whether taking the partitions over again would find something: another's claim, a position outside of its log, or a journal
    /// or stock that lost records.
    private(set) var mustTakeOver = false

    /// How many of the last records show whether another worker has claimed a partition: nothing of this worker's can follow.
    private static let lastRecords: Offset = 16

    init(_ partitions: [Int32], stopped: [Int32: Offset], waiting: [Int32]) {
        (self.partitions, self.stopped, self.waiting) = (partitions, stopped, waiting)
    }

    var isDone: Bool { stage == .done }

    /// Makes the next call on the log.
    func step(on log: some CommandLog, partitions: PartitionTable, reader: CommandReader) throws(LogError) {
        switch stage {
        case .extents:
            // A partition without a leader is found out by its transactions.
            found(try log.extents(of: (self.partitions + stopped.keys + waiting).sorted()).extents, partitions: partitions)
        case .transactions:
            let open = try log.openTransactions(in: waiting.compactMap { extents[$0] })
            freed = waiting.filter { partition in extents[partition] != nil && !open.contains { $0.partition == partition } }
            beginReading()
        case .openingJournals:
            let positions = ChangelogTopic.allCases.flatMap { topic in
                unread[topic, default: [:]].map { ChangelogPosition(topic: topic, partition: $0, offset: $1.lowerBound) }
            }
            // Beyond the last stable offset, as behind another program's transaction, a reader of committed records reaches no end.
            try log.openChangelog(positions.sorted { $0.partition < $1.partition }, isolation: .uncommitted)
            stage = .journals
        case .journals: read(try log.readChangelog())
        case .closingJournals:
            // The log would go on to fetch all that is written from now on.
            try log.openChangelog([], isolation: .uncommitted)
            stage = ranges.isEmpty ? .done : .inputs
        case .inputs:
            let (records, damaged) = try log.readBack(ranges)
            mismatches = evidence.flatMap { $0.mismatches(with: records, damaged: damaged, by: reader) }
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
            if let known = stopped[partition] {
                if end != known { unread[.results]?[partition] = min(max(first, known), end)..<end }
                continue
            }
            guard let state = partitions[partition] else { continue }
            state.compare(extent)
            if end != state.seenResults { unread[.results]?[partition] = first..<end }
            unread[.stock]?[partition] = state.unexplainedStock(in: extent)
            claims[partition] = state.claim
            evidence.append(state.applied.evidence.sinceCheck(in: extent))
            let isBeyond = state.positions.contains { $0.offset > extent.inputs[$0.input]?.upperBound ?? .max }
            mustTakeOver = mustTakeOver || !state.truncated.isEmpty || isBeyond
        }
        if waiting.isEmpty { beginReading() } else { stage = .transactions }
    }

    private func beginReading() {
        stage = unread.values.contains { !$0.isEmpty } ? .openingJournals : ranges.isEmpty ? .done : .inputs
    }

    /// The next records of journals and stock.
    private func read(_ batch: ChangelogBatch) {
        for record in batch.records {
            guard let range = unread[record.topic]?[record.partition] else { continue }
            if record.topic == .stock {
                stockRecords[record.partition, default: 0] += 1
            } else if let value = record.value, case .claim = JournalNote(value), record.offset > claims[record.partition] ?? -1 {
                mustTakeOver = true
            }
            if record.offset + 1 >= range.upperBound { unread[record.topic]?[record.partition] = nil }
        }
        for end in batch.ends + batch.damages.keys { unread[end.topic]?[end.partition] = nil }
        if unread.values.allSatisfy(\.isEmpty) { stage = .closingJournals }
    }

    /// Lets a state know what was found, if its logs are the ones that they were.
    ///
    /// - Returns: what the worker has to report.
    func confirm(_ state: PartitionState, at now: Timestamp, retention: Timestamp) -> [WorkerEvent] {
        guard let extents = extents[state.partition], !mismatches.contains(where: { $0.input.partition == state.partition }) else {
            return []
        }
        let isRewritten = state.repairStock(in: extents, unexplained: stockRecords[state.partition] ?? 0, at: now)
        let missing = state.missesAnswers(in: extents, at: now, retention: retention)
        state.see(extents)
        state.applied.evidence.thin()
        return (isRewritten ? [.stockRewritten(state.partition)] : [])
            + (missing.map { [.answersDeleted(state.partition, until: $0)] } ?? [])
    }
}

/// What the handled records of a partition's inputs were, or some of them: evidence that an input is still the log that was read.
struct InputFingerprints {
    enum Content: Equatable {
        /// A command that was answered, by half of its ``CommandFingerprint``. A cancel has the other bits of its order.
        case command(UInt64)
        /// A record of which the journal has a digest.
        case record(RecordDigest)

        static func command(_ fingerprint: CommandFingerprint, _ kind: CommandKind) -> Content {
            .command(kind == .cancel ? ~fingerprint.low : fingerprint.low)
        }
    }

    private struct Entry {
        let input: InputPartition
        let offset: Offset
        let content: Content
    }

    /// In the order in which they were handled.
    private var entries: [Entry] = []

    /// More than come between two checks, unless a backlog is read. Beyond it, every second entry is dropped.
    private static let most = 65_536
    /// How many of the latest records of each input are compared at each takeover, and how far back they may lie.
    private static let pins = 32
    private static let longest: Offset = 1_024

    @inline(__always)
    mutating func append(_ input: InputPartition, _ offset: Offset, _ content: Content) {
        if entries.count >= Self.most { halve() }
        entries.append(Entry(input: input, offset: offset, content: content))
    }

    /// Adds the last handled record of each input without entries.
    mutating func append(_ last: ByInput<HandledRecord>) {
        let known = inputs
        for (input, record) in last.byPartition where !known.contains(input) {
            append(input, record.offset, .record(record.digest))
        }
    }

    private var inputs: Set<InputPartition> { Set(entries.lazy.map(\.input)) }

    private mutating func halve() {
        var index = 0
        entries.removeAll { _ in
            index += 1
            return index.isMultiple(of: 2)
        }
    }

    /// Forgets what was handled in a transaction that failed.
    mutating func undo(to positions: InputPositions) {
        while let last = entries.last, last.offset >= positions[last.input] ?? .max { entries.removeLast() }
    }

    /// Forgets an input whose position was moved on purpose, perhaps to another log.
    mutating func removeAll(_ input: InputPartition) { entries.removeAll { $0.input == input } }

    /// Keeps the last entry of each input, and of those before it fewer the older they are.
    mutating func thin() {
        entries = inputs.sorted().flatMap { input in
            let all = entries.filter { $0.input == input }
            var thinned: [Entry] = []
            var distance: Offset = 0
            for entry in all.reversed() {
                let age = (all.last?.offset ?? 0) - entry.offset
                guard age < Self.longest else { break }
                guard age >= distance else { continue }
                thinned.append(entry)
                distance = max(1, 2 * age)
            }
            return thinned.reversed()
        }
    }

    // MARK: - Comparing

    /// The latest records, as far as the logs reach back and still have their places, to compare at a takeover.
    func latest(in extents: PartitionExtents) -> InputFingerprints {
        chosen(in: extents) { _, entries in
            let latest = entries.suffix(Self.pins)
            return latest.filter { entry in latest.last.map { $0.offset - entry.offset < Self.longest } ?? false }
        }
    }

    /// All records since the last check, of inputs whose log may have lost its end, and the oldest of the others. Whether the log
    /// still reaches as far, the takeover finds out.
    func sinceCheck(in extents: PartitionExtents) -> InputFingerprints {
        chosen(in: extents) { input, entries in extents.withNewLeader.contains(input) ? entries : Array(entries.prefix(1)) }
    }

    private func chosen(in extents: PartitionExtents, _ choose: (InputPartition, [Entry]) -> [Entry]) -> InputFingerprints {
        var evidence = InputFingerprints()
        for (input, log) in extents.inputs.sorted(by: { $0.key < $1.key }) {
            // A journal that is not as it was written may not be in order.
            let all = entries.filter { $0.input == input && log.contains($0.offset) }.sorted { $0.offset < $1.offset }
            evidence.entries += choose(input, all)
        }
        return evidence
    }

    /// What to read again.
    var ranges: [InputPartition: Range<Offset>] {
        entries.reduce(into: [:]) { ranges, entry in
            ranges[entry.input] = (ranges[entry.input]?.lowerBound ?? entry.offset)..<entry.offset + 1
        }
    }

    /// The first place of each input that holds something else.
    func mismatches(with records: [CommandRecord], damaged: Set<InputPartition>, by reader: CommandReader) -> [InputMismatch] {
        inputs.subtracting(damaged).sorted().compactMap { input in
            var found = records.lazy.filter { $0.input == input }.makeIterator()
            var next = found.next()
            var intactUpTo: Offset?
            for entry in entries where entry.input == input {
                while let record = next, record.offset < entry.offset { next = found.next() }
                let record = next.flatMap { $0.offset == entry.offset ? $0 : nil }
                guard let record, reader.has(entry.content, in: record) else {
                    let found = record.map(reader.text) ?? "no record"
                    return InputMismatch(input: input, offset: entry.offset, found: found, intactUpTo: intactUpTo)
                }
                intactUpTo = entry.offset + 1
            }
            return nil
        }
    }
}

/// An offset at which an input now holds another record than the one that was handled.
struct InputMismatch {
    let input: InputPartition
    let offset: Offset
    /// What is there now, for people.
    let found: String
    /// The end of what still is as it was handled: the log lost the rest. Nil if nothing is, so that the log is a new one.
    let intactUpTo: Offset?
}

extension CommandReader {
    /// The digests that a record may have in the journal: of a record without an answer, and of a command.
    func digests(of record: CommandRecord) -> (RecordDigest, RecordDigest?) {
        let digest = RecordDigest(key: record.key, value: record.value)
        return if case .command(let command, _) = read(record) { (digest, RecordDigest(of: command.head)) } else { (digest, nil) }
    }

    fileprivate func has(_ content: InputFingerprints.Content, in record: CommandRecord) -> Bool {
        switch content {
        case .record(let digest): [digests(of: record)].contains { $0 == digest || $1 == digest }
        case .command:
            if case .command(let found, _) = read(record) {
                content == .command(found.fingerprint, found.head.command)
            } else {
                false
            }
        }
    }

    /// For people.
    fileprivate func text(of record: CommandRecord) -> String {
        switch read(record) {
        case .command(let command, _): command.head.text
        case .misrouted: "a command for another partition"
        default: "a record that is no command"
        }
    }
}

extension AnswerHead {
    /// The command's id and store, for people.
    var text: String {
        let kind =
            switch command {
            case .order: "order"
            case .cancel: "the cancel of order"
            case .restock: "restock"
            }
        return "\(kind) \"\(String(id))\" of store \"\(String(store))\""
    }
}

extension InputPartition {
    /// For people, such as `orders [3]`.
    var text: String { "\(topic) [\(partition)]" }
}
