import JuiceEngine

/// How much of the changelogs a restore still has to read.
struct RestoreProgress {
    private struct Place: Hashable {
        let topic: ChangelogTopic
        let partition: Int32
    }

    /// The offsets up to which partitions are read.
    private var ends: [Place: Offset] = [:]
    /// The next offset to read of each partition.
    private var positions: [Place: Offset] = [:]

    /// Sets how far the changelogs are to be read.
    mutating func setEnds(_ extents: [PartitionExtents]) {
        for extent in extents {
            ends[Place(topic: .stock, partition: extent.partition)] = extent.stock.upperBound
            ends[Place(topic: .results, partition: extent.partition)] = extent.results.upperBound
        }
    }

    /// Sets where reading begins.
    mutating func begin(at positions: [ChangelogPosition]) {
        self.positions = [:]
        for position in positions { advance(position.topic, position.partition, position.offset) }
    }

    /// Moves past the records and ends of a batch.
    mutating func advance(by batch: ChangelogBatch) {
        // Records come in runs of one topic partition: only the last of each run matters.
        for (index, record) in batch.records.enumerated() {
            let next = index + 1 < batch.records.count ? batch.records[index + 1] : nil
            guard next?.topic != record.topic || next?.partition != record.partition else { continue }
            advance(record.topic, record.partition, record.offset + 1)
        }
        for end in batch.ends { advance(end.topic, end.partition, end.offset) }
    }

    private mutating func advance(_ topic: ChangelogTopic, _ partition: Int32, _ offset: Offset) {
        positions[Place(topic: topic, partition: partition)] = offset
    }

    /// How many offsets remain to be read, markers and gaps included.
    var remaining: Int64 {
        positions.reduce(0) { sum, entry in sum + max(0, (ends[entry.key] ?? 0) - entry.value) }
    }
}
