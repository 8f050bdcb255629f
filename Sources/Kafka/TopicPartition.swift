import CRdKafka
import Foundation

/// A position in a partition's log: the number of a record, counted from 0.
public typealias Offset = Int64

/// One partition of one topic.
public struct TopicPartition: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// The topic's name.
    public let topic: String
    /// The partition's number, from 0.
    public let partition: Int32

    /// A partition of a topic.
    public init(topic: String, partition: Int32) { (self.topic, self.partition) = (topic, partition) }

    init(_ element: rd_kafka_topic_partition_t) {
        self.init(topic: String(cString: element.topic), partition: element.partition)
    }

    /// `topic [partition]`, as librdkafka logs it.
    public var description: String { "\(topic) [\(partition)]" }
}

/// What a consumer group has committed for a partition.
public struct CommittedOffset: Hashable, Sendable {
    /// The offset of the next record.
    public let offset: Offset
    /// Text that the member stored with the offset for its own use; empty if none.
    public let metadata: String

    /// An offset with optional metadata.
    public init(_ offset: Offset, metadata: String = "") { (self.offset, self.metadata) = (offset, metadata) }
}

/// The only owner of an `rd_kafka_topic_partition_list_t`.
final class PartitionList {
    private let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    convenience init(_ partitions: some Sequence<TopicPartition>) {
        self.init(offsets: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_INVALID)) })
    }

    convenience init(offsets: some Sequence<(key: TopicPartition, value: Offset)>) {
        self.init(offsets.map { ($0, CommittedOffset($1)) })
    }

    init(_ offsets: some Sequence<(key: TopicPartition, value: CommittedOffset)>) {
        pointer = rd_kafka_topic_partition_list_new(0)
        for (partition, committed) in offsets {
            guard let element = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition) else { continue }
            element.pointee.offset = committed.offset
            guard !committed.metadata.isEmpty else { continue }
            // The list frees it.
            element.pointee.metadata = UnsafeMutableRawPointer(strdup(committed.metadata))
            element.pointee.metadata_size = committed.metadata.utf8.count
        }
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    typealias Call = (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> rd_kafka_resp_err_t

    /// Lends the list to a C call. Swift may release the list after its last visible use, and the use of a pointer taken out of it
    /// does not count.
    ///
    /// - Throws: the error that the call returns.
    func lend(to call: Call) throws(KafkaError) {
        if let error = KafkaError(withExtendedLifetime(self) { call(pointer) }) { throw error }
    }

    /// The offset and metadata of each partition in the list that has an offset.
    ///
    /// - Throws: the first error that librdkafka has set for a partition.
    func committed() throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        try withExtendedLifetime(self) { () throws(KafkaError) in try UnsafePointer(pointer).committed() }
    }
}

extension UnsafePointer<rd_kafka_topic_partition_list_t> {
    /// The partitions of a list that librdkafka owns.
    package var partitions: [TopicPartition] { elements.map(TopicPartition.init) }

    /// As ``PartitionList/committed()``.
    func committed() throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        var committed: [TopicPartition: CommittedOffset] = [:]
        for element in elements {
            let partition = TopicPartition(element)
            if let error = KafkaError(element.err) { throw error.with(\.message, "\(partition): \(error.message)") }
            guard element.offset >= 0 else { continue }
            let text = UnsafeRawBufferPointer(start: element.metadata, count: element.metadata_size)
            committed[partition] = CommittedOffset(element.offset, metadata: String(decoding: text, as: UTF8.self))
        }
        return committed
    }

    var elements: UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeBufferPointer(start: pointee.elems, count: Int(pointee.cnt))
    }
}
