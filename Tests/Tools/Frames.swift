import NIOCore

@testable import FaultyNetwork

/// A field in Kafka's protocol.
enum Field: Sendable {
    case int8(UInt8)
    case int16(Int16)
    case int32(Int32)
    case int64(Int64)
    case string(String?)
    /// A string in the encoding of flexible versions.
    case compact(String)
    case bytes([UInt8])
}

/// A frame of these fields, after its length.
func frame(_ fields: [Field]) -> ByteBuffer {
    var body = ByteBuffer()
    for field in fields {
        switch field {
        case .int8(let value): body.writeInteger(value)
        case .int16(let value): body.writeInteger(value)
        case .int32(let value): body.writeInteger(value)
        case .int64(let value): body.writeInteger(value)
        case .string(nil): body.writeInteger(Int16(-1))
        case .string(let text?):
            body.writeInteger(Int16(text.utf8.count))
            body.writeString(text)
        case .compact(let text):
            body.writeInteger(UInt8(text.utf8.count + 1))
            body.writeString(text)
        case .bytes(let bytes): body.writeBytes(bytes)
        }
    }
    var frame = ByteBuffer(integer: Int32(body.readableBytes))
    frame.writeBuffer(&body)
    return frame
}

/// A request with the correlation id 77. Flexible ones have a tag in the header: number 9, of two bytes.
func requestFrame(_ key: ApiKey, _ version: Int16, _ body: [Field] = []) -> ByteBuffer {
    let tags: [Field] = key == .initProducerId && version >= 2 ? [.bytes([1, 9, 2, 0xAA, 0xBB])] : []
    return frame([.int16(key.rawValue), .int16(version), .int32(77), .string("juice-maker-a")] + tags + body)
}

/// What the proxy reads of a request.
func request(_ key: ApiKey, version: Int16 = 0, of id: String? = nil, epoch: Int16 = 0) throws -> Request {
    var request = try Request(frame: requestFrame(key, version))
    request.transactionalID = id
    request.producer = key == .initProducerId ? nil : ProducerIdentity(id: 4_000, epoch: epoch)
    return request
}
