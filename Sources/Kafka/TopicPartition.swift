import CRdKafka

/// A position in a partition's log: the number of a record, counted from 0.
public typealias Offset = Int64

/// One partition of one topic.
public struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
    /// The topic's name.
    public let topic: String
    /// The partition's number, from 0.
    public let partition: Int32

    /// A partition of a topic.
    public init(topic: String, partition: Int32) {
        (self.topic, self.partition) = (topic, partition)
    }

    /// `topic[partition]`, as librdkafka writes it.
    public var description: String { "\(topic)[\(partition)]" }
}

/// The first and the next offset of a partition's log.
public struct Watermarks: Sendable, Equatable {
    /// The offset of the oldest record still there.
    public let low: Offset
    /// The offset of the next record; with `read_committed`, the last stable offset.
    public let high: Offset

    /// A pair of offsets, `low` at most `high`.
    public init(low: Offset, high: Offset) {
        (self.low, self.high) = (low, high)
    }
}

/// Ranges of partitions that are still to be read.
///
/// Transaction markers occupy offsets, so a range's last record need not be just below its end. A consumer with
/// `enable.partition.eof` reports what no record shows.
public struct UnreadRanges: Sendable {
    private var ends: [TopicPartition: Offset] = [:]

    /// Ranges of offsets to read; empty ones count as read.
    public init(_ ranges: [TopicPartition: Range<Offset>]) {
        for (partition, range) in ranges where !range.isEmpty { ends[partition] = range.upperBound }
    }

    /// Whether everything has been read.
    public var isEmpty: Bool { ends.isEmpty }

    /// A partition has been read up to an offset.
    public mutating func passed(_ partition: TopicPartition, next: Offset) {
        guard let end = ends[partition], next >= end else { return }
        ends[partition] = nil
    }
}

/// The only owner of an `rd_kafka_topic_partition_list_t`.
final class PartitionList {
    private let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    /// A list of partitions without offsets.
    convenience init(_ partitions: some Sequence<TopicPartition>) {
        self.init(offsets: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_INVALID)) })
    }

    init(offsets: some Sequence<(key: TopicPartition, value: Offset)>) {
        pointer = rd_kafka_topic_partition_list_new(0)
        for (partition, offset) in offsets {
            let element = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
            element?.pointee.offset = offset
        }
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    /// Lends the list to a C call. Swift may release the list after its last visible use, and the use of a pointer taken out
    /// of it does not count.
    func withPointer<Result>(_ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// The partitions of a list that librdkafka owns.
    static func partitions(of list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> [TopicPartition] {
        elements(of: list).map { TopicPartition(topic: String(cString: $0.topic), partition: $0.partition) }
    }

    private static func elements(
        of list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) -> UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt))
    }

    /// The offset of each partition; nil where there is none.
    ///
    /// - Throws: the first partition's error, if librdkafka has set one.
    func offsets() throws(KafkaError) -> [TopicPartition: Offset?] {
        var offsets: [TopicPartition: Offset?] = [:]
        for element in Self.elements(of: pointer) {
            let partition = TopicPartition(topic: String(cString: element.topic), partition: element.partition)
            if let error = KafkaError(element.err) { throw error.saying("\(partition): \(error.message)") }
            offsets.updateValue(element.offset < 0 ? nil : element.offset, forKey: partition)
        }
        return offsets
    }
}
