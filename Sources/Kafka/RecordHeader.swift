import CRdKafka

/// One header of a record: a name and a value.
public struct RecordHeader: Hashable, Sendable {
    /// The name. A record may have several headers of the same name.
    public let name: String
    /// The value's bytes; nil is Kafka's null, which differs from empty.
    public let value: [UInt8]?

    /// A header with a value of bytes.
    public init(name: String, value: [UInt8]?) { (self.name, self.value) = (name, value) }

    /// A header with a value of text.
    public init(name: String, value: String) { self.init(name: name, value: Array(value.utf8)) }

    /// The value as text; nil if it is null or not UTF-8.
    public var text: String? { value.flatMap { String(validating: $0, as: UTF8.self) } }

    /// The headers of a received message, in order.
    static func all(of message: UnsafePointer<rd_kafka_message_t>) -> [RecordHeader] {
        var handle: OpaquePointer?
        guard rd_kafka_message_headers(message, &handle) == RD_KAFKA_RESP_ERR_NO_ERROR, let handle else { return [] }
        var headers: [RecordHeader] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(handle, headers.count, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR, let text = name {
            let bytes = value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) }
            headers.append(RecordHeader(name: String(cString: text), value: bytes))
        }
        return headers
    }

    /// librdkafka's list of these headers, which the caller owns until a produce call takes it.
    static func makeList(_ headers: [RecordHeader]) -> OpaquePointer? {
        let list = rd_kafka_headers_new(headers.count)
        for header in headers {
            if let value = header.value {
                _ = value.withUnsafeBytes {
                    // An address of null would mean a null value, so an empty value needs some other address.
                    let start = $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
                    return rd_kafka_header_add(list, header.name, -1, start, $0.count)
                }
            } else {
                _ = rd_kafka_header_add(list, header.name, -1, nil, 0)
            }
        }
        return list
    }
}
