import CRdKafka

/// One record of a ``RecordBatch``: a view into librdkafka's memory, valid until the consumer polls again.
public struct ConsumedRecord {
    let message: UnsafePointer<rd_kafka_message_t>

    /// The topic's name, copied.
    public var topic: String { String(cString: rd_kafka_topic_name(message.pointee.rkt)) }
    /// Equal for records of the same topic from the same consumer: a cheap stand-in for its name.
    public var topicIdentity: OpaquePointer? { message.pointee.rkt }
    /// The partition's number.
    public var partition: Int32 { message.pointee.partition }
    /// Where the record stands in its partition.
    public var offset: Offset { message.pointee.offset }

    /// The key's bytes; nil is Kafka's null key.
    public var key: UnsafeRawBufferPointer? {
        message.pointee.key.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len) }
    }

    /// The value's bytes; nil is Kafka's null value, a tombstone on a compacted topic.
    public var value: UnsafeRawBufferPointer? {
        message.pointee.payload.map { UnsafeRawBufferPointer(start: $0, count: message.pointee.len) }
    }

    /// When the record was made, or appended, in milliseconds since 1970; nil where the broker kept no time.
    public var timestamp: Int64? {
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let milliseconds = rd_kafka_message_timestamp(message, &kind)
        return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : milliseconds
    }

    /// The headers, copied; empty, and cheap, for a record that has none.
    public var headers: [RecordHeader] { RecordHeader.all(of: message) }
}

/// What one poll brought: records and, among them, what librdkafka had to say about partitions.
///
/// Everything in it is a view into librdkafka's memory, valid until the consumer polls again.
public struct RecordBatch: RandomAccessCollection {
    /// One thing a consumer received.
    public enum Element {
        /// A record.
        case record(ConsumedRecord)
        /// A partition is read to its end; `next` is the offset its next record will have. Only reported with
        /// `enable.partition.eof`.
        case endOfPartition(TopicPartition, next: Offset)
        /// Something went wrong, with a partition where one is known.
        case failure(TopicPartition?, KafkaError)
    }

    let messages: UnsafeBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { messages.count }

    /// The element at a position below ``endIndex``.
    public subscript(position: Int) -> Element {
        guard let message = messages[position] else { return .failure(nil, .outOfMemory) }
        guard message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR else {
            return .record(ConsumedRecord(message: message))
        }
        let partition = message.pointee.rkt.map {
            TopicPartition(
                topic: String(cString: rd_kafka_topic_name($0)),
                partition: message.pointee.partition
            )
        }
        if let partition, message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            return .endOfPartition(partition, next: message.pointee.offset)
        }
        return .failure(partition, Self.error(of: message, at: partition))
    }
    /// librdkafka's sentence, after the name of what it is about.
    private static func error(
        of message: UnsafePointer<rd_kafka_message_t>,
        at partition: TopicPartition?
    ) -> KafkaError {
        var reason = rd_kafka_message_errstr(message).map { String(cString: $0) }
        if let partition {
            let name = partition.partition < 0 ? partition.topic : partition.description
            reason = "\(name): \(reason ?? "")"
        }
        return (KafkaError(message.pointee.err, message: reason) ?? .outOfMemory).at(message.pointee.offset)
    }
}
