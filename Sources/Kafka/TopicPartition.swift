import CRdKafka
import Foundation

/// A position in a partition's log: the number of a record, counted from 0.
public typealias Offset = Int64

/// One partition of one topic.
public struct TopicPartition: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// The topic's name.
    public let topic: String
    /// From 0.
    public let partition: Int32

    /// A partition of a topic.
    public init(topic: String, partition: Int32) { (self.topic, self.partition) = (topic, partition) }

    init(_ element: rd_kafka_topic_partition_t) {
        self.init(topic: String(cString: element.topic), partition: element.partition)
    }

    /// `topic [partition]`, as librdkafka logs it.
    public var description: String { "\(topic) [\(partition)]" }
}

/// The only owner of an `rd_kafka_topic_partition_list_t`.
final class PartitionList {
    private let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    convenience init(_ partitions: some Sequence<TopicPartition>) {
        self.init(offsets: partitions.map { ($0, Offset(RD_KAFKA_OFFSET_INVALID)) })
    }

    init(offsets: some Sequence<(key: TopicPartition, value: Offset)>, metadata: [TopicPartition: String] = [:]) {
        pointer = rd_kafka_topic_partition_list_new(0)
        for (partition, offset) in offsets {
            guard let element = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition) else { continue }
            element.pointee.offset = offset
            guard let text = metadata[partition] else { continue }
            // The list frees it.
            (element.pointee.metadata, element.pointee.metadata_size) = (UnsafeMutableRawPointer(strdup(text)), text.utf8.count)
        }
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    /// Lends the list to a C call. Swift may release the list after its last visible use, and the use of a pointer taken out of it
    /// does not count.
    func withPointer<Result>(_ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// The offset of each partition; nil where there is none.
    ///
    /// - Throws: the first partition's error, if librdkafka has set one.
    func offsets() throws(KafkaError) -> [TopicPartition: Offset?] {
        var offsets: [TopicPartition: Offset?] = [:]
        for element in UnsafePointer(pointer).elements {
            let partition = TopicPartition(element)
            if let error = KafkaError(element.err) { throw error.with(\.message, "\(partition): \(error.message)") }
            offsets.updateValue(element.offset < 0 ? nil : element.offset, forKey: partition)
        }
        return offsets
    }

    /// The metadata of each partition that has some.
    var metadata: [TopicPartition: String] {
        UnsafePointer(pointer).elements.reduce(into: [:]) { metadata, element in
            guard let bytes = element.metadata, element.metadata_size > 0 else { return }
            let text = UnsafeRawBufferPointer(start: bytes, count: element.metadata_size)
            metadata[TopicPartition(element)] = String(decoding: text, as: UTF8.self)
        }
    }
}

extension UnsafePointer<rd_kafka_topic_partition_list_t> {
    /// The partitions of a list that librdkafka owns.
    package var partitions: [TopicPartition] { elements.map(TopicPartition.init) }

    fileprivate var elements: UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeBufferPointer(start: pointee.elems, count: Int(pointee.cnt))
    }
}
