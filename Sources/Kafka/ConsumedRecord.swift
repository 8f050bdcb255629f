import CRdKafka

/// One record of a ``RecordBatch``: a view into librdkafka's memory, valid until the consumer polls again.
public struct ConsumedRecord {
    let message: UnsafePointer<rd_kafka_message_t>

    /// The topic's name, copied.
    public var topic: String { String(cString: rd_kafka_topic_name(message.pointee.rkt)) }
    /// Equal for records of the same topic from the same consumer: cheaper to compare than the name.
    public var topicIdentity: OpaquePointer? { message.pointee.rkt }
    /// The partition's number.
    public var partition: Int32 { message.pointee.partition }
    /// The record's offset in its partition.
    public var offset: Offset { message.pointee.offset }

    /// The key's bytes; nil is Kafka's null key.
    public var key: UnsafeRawBufferPointer? {
        message.pointee.key.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len) }
    }

    /// The value's bytes; nil is Kafka's null value, a tombstone on a compacted topic.
    public var value: UnsafeRawBufferPointer? {
        message.pointee.payload.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.len) }
    }

    /// When the record was created or appended, in milliseconds since 1970; nil if the broker stored no timestamp.
    public var timestamp: Int64? {
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let milliseconds = rd_kafka_message_timestamp(message, &kind)
        return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : milliseconds
    }

    /// The headers, copied. Empty, without a copy, for a record that has none.
    public var headers: [RecordHeader] {
        Self.mayHaveHeaders(after: value) ? RecordHeader.all(of: message) : []
    }

    /// Whether the record with this value may have headers, which costs far less than to ask for them. The value must be as it
    /// was received.
    static func mayHaveHeaders(after value: UnsafeRawBufferPointer?) -> Bool {
        crdkafka_may_have_headers(value?.baseAddress, value?.count ?? 0)
    }
}

/// The result of one poll: records and, in between, events and errors of partitions.
///
/// All elements are views into librdkafka's memory, valid until the consumer polls again.
public struct RecordBatch: RandomAccessCollection {
    /// A record, an event or an error.
    public enum Element {
        /// A record.
        case record(ConsumedRecord)
        /// The partition has been read to its end; its next record will have the offset `next`. Only reported with
        /// `enable.partition.eof`.
        case endOfPartition(TopicPartition, next: Offset)
        /// An error, with the partition it concerns if known.
        case failure(TopicPartition?, KafkaError)
    }

    let messages: UnsafeBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>

    /// The headers of the record at a position, which has this value. If the value shows that there are none, nothing else of
    /// the record is touched: in a large batch it is no longer in the processor's caches.
    public func headers(at position: Int, of value: UnsafeRawBufferPointer?) -> [RecordHeader] {
        guard ConsumedRecord.mayHaveHeaders(after: value), case .record(let record) = self[position] else { return [] }
        return record.headers
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { messages.count }

    /// The element at a position below ``endIndex``.
    public subscript(position: Int) -> Element {
        guard let message = messages[position] else { return .failure(nil, .outOfMemory) }
        guard message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR else { return .record(ConsumedRecord(message: message)) }
        let partition = message.pointee.rkt.map {
            TopicPartition(topic: String(cString: rd_kafka_topic_name($0)), partition: message.pointee.partition)
        }
        if let partition, message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            return .endOfPartition(partition, next: message.pointee.offset)
        }
        return .failure(partition, Self.error(of: message, at: partition))
    }

    /// librdkafka's message, prefixed with the topic or partition it concerns.
    private static func error(of message: UnsafePointer<rd_kafka_message_t>, at partition: TopicPartition?) -> KafkaError {
        var reason = rd_kafka_message_errstr(message).map { String(cString: $0) }
        if let partition {
            let name = partition.partition < 0 ? partition.topic : partition.description
            reason = "\(name): \(reason ?? "")"
        }
        return (KafkaError(message.pointee.err, message: reason) ?? .outOfMemory).at(message.pointee.offset)
    }
}
