import JuiceMessages

/// Reads first answers back from the journals, for repeats that cannot be answered without them.
///
/// The answers that are wanted of a partition are read in order. Records between two of them are read over if there are few of
/// it, and is kept as long as there is room: the next repeats probably want it.
final class AnswerReadBack {
    private enum Stage { case opening, reading, closing, done }

    /// The offsets that are still wanted of each partition, from the last to the next.
    private var wanted: [Int32: [Offset]]
    /// The partitions that are being read.
    private var reading: Set<Int32> = []
    private var stage = Stage.opening
    /// When something was read last.
    private var readAt: Timestamp?
    /// How many were read back.
    private(set) var count = 0
    /// Partitions with damage at the place of an answer.
    private(set) var damages: [Int32: (offset: Offset, reason: String)] = [:]

    /// The most answers that are read back of a partition at a time.
    static let most = 4_096
    /// Reopening a partition costs about as much as reading over this many records.
    private static let longestGap: Offset = 1_024
    /// How long reading may find nothing, in milliseconds: the other partitions wait for it.
    private static let longestWait: Timestamp = 5_000

    init(_ wanted: [Int32: Set<Offset>]) {
        self.wanted = wanted.mapValues { $0.sorted(by: >) }
        if wanted.isEmpty { stage = .done }
    }

    var isDone: Bool { stage == .done }

    /// Makes the next call on the log.
    func step(on log: some KafkaPort, partitions: PartitionTable, reader: JournalReader) throws(LogError) {
        switch stage {
        case .opening:
            let positions = wanted.compactMap { partition, offsets in
                offsets.last.map { ChangelogPosition(topic: .results, partition: partition, offset: $0) }
            }
            // They are known to be committed, and this reads in smaller pieces.
            try log.openChangelog(positions.sorted { $0.partition < $1.partition }, isolation: .uncommitted)
            (stage, reading) = (.reading, Set(wanted.keys))
        case .reading: try read(try log.readChangelog(), into: partitions, by: reader, now: log.uptime)
        case .closing:
            // The log would go on to fetch all that is written from now on.
            try log.openChangelog([], isolation: .uncommitted)
            stage = .done
        case .done: break
        }
    }

    /// Adds the next records of the journals to the states. Throws if nothing comes for long.
    private func read(
        _ batch: ChangelogBatch, into partitions: PartitionTable, by reader: JournalReader, now: Timestamp
    ) throws(LogError) {
        if !batch.records.isEmpty || readAt == nil { readAt = now }
        if let readAt, now - readAt > Self.longestWait {
            throw LogError(.startOver, "the answers that repeats ask for cannot be read")
        }
        let read = reading
        for record in batch.records where read.contains(record.partition) {
            guard let state = partitions[record.partition] else { continue }
            let isWanted = take(record, state)
            var isAnswer = false
            if let value = record.value, let answer = (try? reader.read(value))?.answer, let command = answer.remembered {
                isAnswer = state.applied.duplicates.addReadBack(
                    answer.given(value), at: record.offset, of: command, isWanted: isWanted)
            }
            guard isWanted else { continue }
            if isAnswer { count += 1 } else { state.applied.duplicates.lose(at: record.offset) }
        }
        for (place, reason) in batch.damages where reading.contains(place.partition) {
            damages[place.partition] = (place.offset, reason)
            end(place.partition)
        }
        for end in batch.ends where reading.contains(end.partition) {
            lose(end.partition, before: end.offset, partitions[end.partition])
            if wanted[end.partition]?.isEmpty ?? true { self.end(end.partition) }
        }
        if reading.isEmpty { stage = wanted.isEmpty ? .closing : .opening }
    }

    /// - Returns: whether a record is wanted.
    private func take(_ record: ChangelogBatch.Record, _ state: PartitionState) -> Bool {
        let partition = record.partition
        guard reading.contains(partition) else { return false }
        lose(partition, before: record.offset, state)
        let isWanted = wanted[partition]?.last == record.offset
        if isWanted { wanted[partition]?.removeLast() }
        if let next = wanted[partition]?.last {
            // Read on from there.
            if isWanted, next - record.offset > Self.longestGap { reading.remove(partition) }
        } else {
            end(partition)
        }
        return isWanted
    }

    /// What is wanted from before the next record is gone: the journal's beginning was deleted, or it is another log.
    private func lose(_ partition: Int32, before offset: Offset, _ state: PartitionState?) {
        while let next = wanted[partition]?.last, next < offset {
            wanted[partition]?.removeLast()
            state?.applied.duplicates.lose(at: next)
        }
    }

    private func end(_ partition: Int32) {
        wanted[partition] = nil
        reading.remove(partition)
    }
}
