import CRdKafka

/// One header of a record: a name and a value.
public struct RecordHeader: Hashable, Sendable {
    /// A record may have several headers of the same name.
    public let name: String
    /// The value's bytes; nil is Kafka's null, which differs from empty.
    public let value: [UInt8]?

    /// A header whose value is bytes, or null.
    public init(name: String, value: [UInt8]?) { (self.name, self.value) = (name, value) }

    /// A header whose value is text.
    public init(name: String, value: String) { self.init(name: name, value: Array(value.utf8)) }

    /// The value as text; nil if it is null or not UTF-8.
    public var text: String? { value.flatMap { String(validating: $0, as: UTF8.self) } }

    /// These headers, after the copied ones, as librdkafka's list. The caller owns it until a produce call takes it.
    static func makeList(_ headers: [RecordHeader], behind copied: HeaderList?) -> OpaquePointer? {
        let list = copied.map { rd_kafka_headers_copy($0.pointer) } ?? rd_kafka_headers_new(headers.count)
        for header in headers {
            if let value = header.value {
                _ = value.withUnsafeBytes { rd_kafka_header_add(list, header.name, -1, nonNull($0), $0.count) }
            } else {
                _ = rd_kafka_header_add(list, header.name, -1, nil, 0)
            }
        }
        return list
    }
}

/// A copy of a record's headers, to be written again. A ``RecordHeader`` has the name as text, cut at NUL: no call of librdkafka
/// returns all bytes of a name.
///
/// Sendable, since nothing changes it after its initialization.
public final class HeaderList: @unchecked Sendable {
    let pointer: OpaquePointer

    init?(copying list: OpaquePointer?, without names: Set<String> = []) {
        guard let list, let copy = rd_kafka_headers_copy(list) else { return nil }
        pointer = copy
        for name in names { rd_kafka_header_remove(copy, name) }
    }

    deinit { rd_kafka_headers_destroy(pointer) }

    /// The headers except those with these names.
    public func removing(_ names: Set<String>) -> HeaderList? { HeaderList(copying: pointer, without: names) }
}

/// An address for bytes that are not Kafka's null. An empty buffer may have none, and librdkafka would take that for null.
func nonNull(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? { bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1) }

/// One record of a ``RecordBatch``: a view into librdkafka's memory, valid until the consumer polls again.
public struct ConsumedRecord {
    let message: UnsafePointer<rd_kafka_message_t>

    /// The topic's name, copied.
    public var topic: String { String(cString: rd_kafka_topic_name(message.pointee.rkt)) }
    /// Equal for records of the same topic from the same consumer, and cheaper to compare than the name.
    public var topicIdentity: OpaquePointer? { message.pointee.rkt }
    /// The number of the record's partition.
    public var partition: Int32 { message.pointee.partition }
    /// The record's partition, with the topic's name copied.
    public var place: TopicPartition { TopicPartition(topic: topic, partition: partition) }
    /// The record's place in its partition.
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

    /// The headers in order, copied. Empty, and nothing is copied, if the record has none or librdkafka cannot read them.
    public var headers: [RecordHeader] { readableHeaders ?? [] }

    /// The headers; nil if librdkafka cannot read them: they are malformed, or more than 100,000.
    var readableHeaders: [RecordHeader]? {
        guard Self.mayHaveHeaders(after: value) else { return [] }
        var list: OpaquePointer?
        let error = rd_kafka_message_headers(message, &list)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let list else { return error == RD_KAFKA_RESP_ERR__NOENT ? [] : nil }
        var headers: [RecordHeader] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(list, headers.count, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR, let name {
            let bytes = value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) }
            headers.append(RecordHeader(name: String(cString: name), value: bytes))
        }
        return headers
    }

    /// The headers byte for byte; nil if there are none, or they cannot be read.
    public var headerList: HeaderList? {
        var list: OpaquePointer?
        return rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR ? HeaderList(copying: list) : nil
    }

    /// Whether the record with this value, in the memory where it was received, may have headers. Far cheaper than reading them.
    static func mayHaveHeaders(after value: UnsafeRawBufferPointer?) -> Bool {
        crdkafka_may_have_headers(value?.baseAddress, value?.count ?? 0)
    }
}

/// A change of the partitions that the group has assigned to a consumer.
public enum Rebalance: Sendable {
    /// The consumer had no partitions before. It reads none of these until ``Consumer/assign(_:)``.
    case assigned([TopicPartition])
    /// The group revoked all partitions, or could not be joined for this reason.
    case revoked(KafkaError?)
}

/// The result of one poll: views into librdkafka's memory, valid until the consumer polls again.
public struct RecordBatch: RandomAccessCollection {
    /// A record, an event or an error.
    public enum Element {
        case record(ConsumedRecord)
        /// The partition has been read to its end; its next record will have the offset `next`. Only reported with
        /// `enable.partition.eof`.
        case endOfPartition(TopicPartition, next: Offset)
        /// An error, with the partition it concerns if known.
        case failure(TopicPartition?, KafkaError)
    }

    var messages = UnsafeBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>(start: nil, count: 0)
    /// A change of the group's assignment. The batch is then empty.
    public internal(set) var rebalance: Rebalance?

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { messages.count }

    /// The record at a position; nil if there is an event or an error, or no message.
    func record(at position: Int) -> ConsumedRecord? {
        guard position < messages.count, let message = messages[position], message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR
        else { return nil }
        return ConsumedRecord(message: message)
    }

    /// The element at a position.
    public subscript(position: Int) -> Element {
        guard let message = messages[position] else { return .failure(nil, .outOfMemory) }
        guard message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR else { return .record(ConsumedRecord(message: message)) }
        let (offset, partition) = (message.pointee.offset, message.pointee.rkt.map { _ in ConsumedRecord(message: message).place })
        if let partition, message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            return .endOfPartition(partition, next: offset)
        }
        var reason = rd_kafka_message_errstr(message).map { String(cString: $0) }
        // Some errors concern a topic as a whole.
        if let place = partition { reason = "\(place.partition < 0 ? place.topic : place.description): \(reason ?? "")" }
        let error = KafkaError(message.pointee.err, message: reason) ?? .outOfMemory
        return .failure(partition, error.with(\.offset, offset >= 0 ? offset : nil))
    }
}
