import JuiceMessages

/// Reads first answers back from the journals, for repeats that cannot be answered without them.
///
/// Reads a partition's wanted answers in offset order, in parts without long gaps. Answers between and after them are kept while
/// there is room: the next repeats probably want them.
final class AnswerReadBack {
    /// The offsets still wanted of each partition, in descending order.
    private var wanted: [Int32: [Offset]]
    /// The parts that are being read.
    private var parts: [ChangelogReading.Part] = []
    private var reading = ChangelogReading()
    /// How many answers were read back.
    private(set) var count = 0
    /// Partitions with damage at the place of an answer.
    private(set) var damages: [Int32: (offset: Offset, reason: String)] = [:]

    /// The most answers that are read back from a partition at a time.
    static let most = 4_096
    /// Reopening a partition costs about as much as reading this many records.
    private static let longestGap: Offset = 1_024
    /// How long reading may find nothing, in milliseconds: the other partitions wait for it.
    private static let longestWait: Timestamp = 5_000

    init(_ wanted: [Int32: Set<Offset>]) { self.wanted = wanted.mapValues { $0.sorted(by: >) } }

    var isDone: Bool { wanted.isEmpty && reading.isDone }

    /// Makes the next call on the log. Throws if nothing comes for long.
    func step(on log: some KafkaPort, partitions: PartitionTable, reader: JournalReader) throws(LogError) {
        if reading.isDone {
            parts = wanted.sorted { $0.key < $1.key }.map { Self.nextPart(of: $0, $1) }
            // The answers are known to be committed, and uncommitted reading fetches smaller pieces.
            reading = ChangelogReading(parts, isolation: .uncommitted, closes: true, longestWait: Self.longestWait)
        }
        let damaged = try reading.step(on: log) { run in
            for record in run { if let state = partitions[record.partition] { take(record, for: state, by: reader) } }
        }
        for (place, reason) in damaged {
            damages[place.partition] = (place.offset, reason)
            wanted[place.partition] = nil
        }
        guard reading.isDone else { return }
        for part in parts { lose(part.partition, before: part.offsets.upperBound, partitions[part.partition]) }
        wanted = wanted.filter { !$0.value.isEmpty }
    }

    private static func nextPart(of partition: Int32, _ offsets: [Offset]) -> ChangelogReading.Part {
        let first = offsets.last ?? 0
        var last = first
        for offset in offsets.reversed() where offset - last <= longestGap { last = offset }
        return .init(topic: .results, partition: partition, offsets: first..<last + 1, includesMore: true)
    }

    private func take(_ record: ChangelogBatch.Record, for state: PartitionState, by reader: JournalReader) {
        lose(record.partition, before: record.offset, state)
        let isWanted = wanted[record.partition]?.last == record.offset
        if isWanted { wanted[record.partition]?.removeLast() }
        var isAnswer = false
        if let value = record.value, let answer = (try? reader.read(value))?.answer, let command = answer.remembered {
            isAnswer = state.applied.duplicates.addReadBack(
                answer.given(value), at: record.offset, of: command, isWanted: isWanted)
        }
        guard isWanted else { return }
        if isAnswer { count += 1 } else { state.applied.duplicates.lose(at: record.offset) }
    }

    /// Gives up wanted answers before an offset that was read: the journal's beginning was deleted, or it is another log.
    private func lose(_ partition: Int32, before offset: Offset, _ state: PartitionState?) {
        while let next = wanted[partition]?.last, next < offset {
            wanted[partition]?.removeLast()
            state?.applied.duplicates.lose(at: next)
        }
    }
}
