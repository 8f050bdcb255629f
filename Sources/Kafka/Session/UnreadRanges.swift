/// What is still to be read of some partitions before ends that were looked up once.
///
/// Markers of transactions take offsets, so the last record of a range need not be just below its end: with
/// `enable.partition.eof` the consumer tells what no record does.
public struct UnreadRanges: Sendable {
    private var ends: [TopicPartition: Offset] = [:]

    /// These ranges of offsets; empty ones are read already.
    public init(_ ranges: [TopicPartition: Range<Offset>]) {
        for (partition, range) in ranges where !range.isEmpty { ends[partition] = range.upperBound }
    }

    /// Whether everything is read.
    public var isEmpty: Bool { ends.isEmpty }

    /// Takes note that everything below an offset was read.
    public mutating func passed(_ partition: TopicPartition, next: Offset) {
        guard let end = ends[partition], next >= end else { return }
        ends[partition] = nil
    }
}
