import JuiceMessages

/// Fingerprints of some handled records of a partition's inputs: evidence that an input is still the log that was read.
struct InputFingerprints {
    enum Content: Equatable {
        /// A command that was answered, by half of its ``CommandFingerprint``. A cancel has the inverted bits of its order.
        case command(UInt64)
        /// A record whose digest is in the journal.
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

    /// In the order of handling.
    private var entries: [Entry] = []

    /// More entries than come between two checks, unless a backlog is read. Beyond this, every second entry is dropped.
    private static let most = 65_536
    /// The most records of each input that a takeover compares, and how many offsets back from the latest they may lie.
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

    /// In place: a new array would have to grow again, and be copied.
    private mutating func halve() {
        var isDropped = false
        entries.removeAll { _ in
            isDropped.toggle()
            return isDropped
        }
    }

    private var inputs: Set<InputPartition> { Set(entries.lazy.map(\.input)) }

    /// Forgets what was handled in a transaction that failed.
    mutating func undo(to positions: InputPositions) {
        while let last = entries.last, last.offset >= positions[last.input] ?? .max { entries.removeLast() }
    }

    /// Forgets an input whose position was moved on purpose, perhaps to another log.
    mutating func removeAll(_ input: InputPartition) { entries.removeAll { $0.input == input } }

    /// Keeps the last entry of each input, and fewer of the earlier ones the older they are.
    mutating func thin() {
        var kept: [InputPartition: (last: Offset, distance: Offset)] = [:]
        entries = entries.reversed().filter { entry in
            let (last, distance) = kept[entry.input] ?? (entry.offset, 0)
            let age = last - entry.offset
            guard age >= distance, age < Self.longest else { return false }
            kept[entry.input] = (last, max(1, 2 * age))
            return true
        }.reversed()
    }

    // MARK: - Comparing

    /// The latest records that the logs still hold, to compare at a takeover.
    func latest(in extents: PartitionExtents) -> InputFingerprints {
        var (latest, counts) = (within(extents), [InputPartition: (last: Offset, count: Int)]())
        latest.entries = latest.entries.reversed().filter { entry in
            let (last, count) = counts[entry.input] ?? (entry.offset, 0)
            counts[entry.input] = (last, count + 1)
            return count < Self.pins && last - entry.offset < Self.longest
        }.reversed()
        return latest
    }

    /// All records since the last check, of inputs whose log may have lost its end, and the oldest record of each other input. The
    /// takeover finds out whether the log still reaches as far.
    func sinceCheck(in extents: PartitionExtents) -> InputFingerprints {
        var (evidence, known) = (within(extents), Set<InputPartition>())
        evidence.entries.removeAll { !known.insert($0.input).inserted && !extents.withNewLeader.contains($0.input) }
        return evidence
    }

    private func within(_ extents: PartitionExtents) -> InputFingerprints {
        var evidence = self
        evidence.entries.removeAll { !(extents.inputs[$0.input]?.contains($0.offset) ?? false) }
        // A journal that is no longer as it was written may be out of order.
        evidence.entries.sort { $0.offset < $1.offset }
        return evidence
    }

    /// The offsets to read again.
    var ranges: [InputPartition: Range<Offset>] {
        entries.reduce(into: [:]) { ranges, entry in
            ranges[entry.input] = (ranges[entry.input]?.lowerBound ?? entry.offset)..<entry.offset + 1
        }
    }

    /// The first place in each input that no longer holds its record.
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

/// An offset at which an input no longer has the record that was handled.
struct InputMismatch {
    let input: InputPartition
    let offset: Offset
    /// A description of what is there now.
    let found: String
    /// The end of the records that are unchanged: the log lost the rest. Nil if none is, so the log is a new one.
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

    fileprivate func text(of record: CommandRecord) -> String {
        switch read(record) {
        case .command(let command, _): command.head.text
        case .misrouted: "a command for another partition"
        default: "a record that is no command"
        }
    }
}

extension AnswerHead {
    /// The command's kind, id and store.
    var text: String { "\(command) \"\(String(id))\" of store \"\(String(store))\"" }
}

extension InputPartition {
    /// Such as `orders [3]`.
    var text: String { "\(topic) [\(partition)]" }
}
