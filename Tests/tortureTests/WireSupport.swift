import NIOCore

@testable import torture

/// Encodes requests and responses of Kafka's protocol field by field.
struct WireWriter {
    private(set) var buffer = ByteBuffer()

    mutating func integer<Value: FixedWidthInteger>(_ value: Value) { buffer.writeInteger(value) }

    mutating func bytes(_ bytes: some Sequence<UInt8>) { buffer.writeBytes(bytes) }

    mutating func string(_ text: String?, isFlexible: Bool = false) {
        guard let text else { return isFlexible ? integer(UInt8(0)) : integer(Int16(-1)) }
        if isFlexible { varint(text.utf8.count + 1) } else { integer(Int16(text.utf8.count)) }
        buffer.writeString(text)
    }

    mutating func count(_ count: Int, isFlexible: Bool = false) {
        if isFlexible { varint(count + 1) } else { integer(Int32(count)) }
    }

    mutating func tags(isFlexible: Bool = true) {
        if isFlexible { integer(UInt8(0)) }
    }

    mutating func varint(_ value: Int) {
        var rest = value
        while rest >= 0x80 {
            integer(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        integer(UInt8(rest))
    }

    /// The written bytes, after their length.
    var frame: ByteBuffer {
        var frame = ByteBuffer(integer: Int32(buffer.readableBytes))
        frame.writeImmutableBuffer(buffer)
        return frame
    }
}

/// A request, with its header.
func requestFrame(_ key: ApiKey, version: Int16, _ body: (inout WireWriter) -> Void) -> ByteBuffer {
    var writer = WireWriter()
    writer.integer(key.rawValue)
    writer.integer(version)
    writer.integer(Int32(77))
    writer.string("juice-maker-a")
    writer.tags(isFlexible: key.isFlexible(version: version))
    body(&writer)
    return writer.frame
}

/// A response with the correlation id 77.
func answerFrame(hasTags: Bool = false, _ body: (inout WireWriter) -> Void) -> ByteBuffer {
    var writer = WireWriter()
    writer.integer(Int32(77))
    writer.tags(isFlexible: hasTags)
    body(&writer)
    return writer.frame
}

/// The header of a request of some kind.
func header(_ key: ApiKey, version: Int16) throws -> RequestHeader {
    var frame = requestFrame(key, version: version) { _ in }
    return try RequestHeader(from: &frame)
}

/// The parts of a transactional request that the proxy reads.
func request(_ key: ApiKey, of id: String = "t", epoch: Int16 = 0) throws -> Request {
    var request = try Request(frame: requestFrame(key, version: 0) { _ in })
    request.transactionalID = id
    request.producer = key == .initProducerID ? nil : ProducerIdentity(id: 4_000, epoch: epoch)
    return request
}
