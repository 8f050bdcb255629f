import JuiceEngine

/// How much of the changelogs a restore has yet to read.
struct RestoreProgress {
    private struct Place: Hashable {
        let topic: ChangelogTopic
        let partition: Int32
    }

    /// Where reading ends.
    private var ends: [Place: Offset] = [:]
    /// Where reading has come to.
    private var positions: [Place: Offset] = [:]

    /// Takes note of how far the changelogs are to be read.
    mutating func note(_ points: [RestorePoint]) {
        for point in points {
            ends[Place(topic: .stock, partition: point.partition)] = point.stockEnd
            ends[Place(topic: .results, partition: point.partition)] = point.results.upperBound
        }
    }

    /// Takes note of where reading begins.
    mutating func open(_ positions: [ChangelogPosition]) {
        self.positions = [:]
        for position in positions { note(position.topic, position.partition, position.offset) }
    }

    /// Takes note of what was read.
    mutating func note(_ batch: ChangelogBatch) {
        // Records come in runs of one topic partition: only the last of each run matters.
        for (index, record) in batch.records.enumerated() {
            let next = index + 1 < batch.records.count ? batch.records[index + 1] : nil
            guard next?.topic != record.topic || next?.partition != record.partition else { continue }
            note(record.topic, record.partition, record.offset + 1)
        }
        for end in batch.ends { note(end.topic, end.partition, end.offset) }
    }

    private mutating func note(_ topic: ChangelogTopic, _ partition: Int32, _ offset: Offset) {
        positions[Place(topic: topic, partition: partition)] = offset
    }

    /// Offsets to be read, markers and gaps included.
    var remaining: Int64 {
        positions.reduce(0) { sum, entry in sum + max(0, (ends[entry.key] ?? 0) - entry.value) }
    }
}
