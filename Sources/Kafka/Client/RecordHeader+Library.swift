import CRdKafka
import KafkaRecords

/// A header of a record.
public typealias RecordHeader = KafkaRecords.RecordHeader

extension RecordHeader {
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
