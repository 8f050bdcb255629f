import NIOCore

/// Bytes that violate Kafka's protocol.
struct WireError: Error {}

extension ByteBuffer {
    mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(WireError) -> Value {
        guard let value = readInteger(as: Value.self) else { throw WireError() }
        return value
    }

    mutating func skip(_ count: Int) throws(WireError) {
        guard count >= 0, count <= readableBytes else { throw WireError() }
        moveReaderIndex(forwardBy: count)
    }

    /// The number of bytes or elements that follow; nil for null.
    mutating func length(isFlexible: Bool) throws(WireError) -> Int? {
        if isFlexible {
            let number = try varint()
            return number == 0 ? nil : number - 1
        }
        let number: Int32 = try integer()
        return number < 0 ? nil : Int(number)
    }

    /// A string; nil for null.
    mutating func string(isFlexible: Bool) throws(WireError) -> String? {
        let length = isFlexible ? try length(isFlexible: true) ?? -1 : Int(try integer(Int16.self))
        guard length >= 0 else { return nil }
        guard let text = readString(length: length) else { throw WireError() }
        return text
    }

    /// Skips the tagged fields, which only flexible versions have.
    mutating func skipTags(isFlexible: Bool) throws(WireError) {
        guard isFlexible else { return }
        let count = try varint()
        for _ in 0..<count {
            _ = try varint()
            try skip(try varint())
        }
    }

    private mutating func varint() throws(WireError) -> Int {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            let byte: UInt8 = try integer()
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw WireError()
    }
}

/// The header of every request, after the four bytes of its length.
struct RequestHeader: Equatable, Sendable {
    let key: ApiKey
    let version: Int16
    let correlationID: Int32

    var isFlexible: Bool { key.isFlexible(version: version) }

    /// Reads the header, and leaves the buffer at the request's body.
    init(from buffer: inout ByteBuffer) throws(WireError) {
        try buffer.skip(4)
        key = ApiKey(rawValue: try buffer.integer())
        version = try buffer.integer()
        correlationID = try buffer.integer()
        // The client id is never compact, not even in flexible requests.
        _ = try buffer.string(isFlexible: false)
        try buffer.skipTags(isFlexible: key.isFlexible(version: version))
    }
}

/// A producer id and epoch.
struct ProducerIdentity: Hashable, Sendable {
    let id: Int64
    let epoch: Int16
}

extension ProducerIdentity {
    /// Reads them; nil if there are none.
    init?(from buffer: inout ByteBuffer) throws(WireError) {
        (id, epoch) = try (buffer.integer(), buffer.integer())
        if id < 0 { return nil }
    }
}

/// The parts of a request that the proxy needs.
struct Request: Equatable, Sendable {
    let header: RequestHeader
    /// The transactional id, if any.
    var transactionalID: String?
    /// The sender's producer id and epoch; nil if the request has none, as the first InitProducerId.
    var producer: ProducerIdentity?
    /// A Produce without acks gets no answer.
    var isAnswered = true

    var key: ApiKey { header.key }

    /// - Parameter frame: the request, including the four bytes of its length.
    /// - Throws: if the header cannot be read. The body of an unknown version is not read.
    init(frame: ByteBuffer) throws(WireError) {
        var buffer = frame
        header = try RequestHeader(from: &buffer)
        guard ApiKey.transactional.contains(header.key) else { return }
        guard header.version <= ApiKey.newestVersions[header.key, default: 0] else { return }
        try? readBody(&buffer)
    }

    private mutating func readBody(_ buffer: inout ByteBuffer) throws(WireError) {
        if key == .produce {
            guard header.version >= 3 else { return }
            transactionalID = try buffer.string(isFlexible: false)
            isAnswered = try buffer.integer(Int16.self) != 0
            producer = try Self.producer(ofRecords: &buffer)
            return
        }
        transactionalID = try buffer.string(isFlexible: header.isFlexible)
        if key == .initProducerID {
            guard header.version >= 3 else { return }
            // The transaction's timeout.
            try buffer.skip(4)
        }
        producer = try ProducerIdentity(from: &buffer)
    }

    /// The producer named in the first batch of records.
    private static func producer(ofRecords buffer: inout ByteBuffer) throws(WireError) -> ProducerIdentity? {
        // The timeout; then the first topic with its name; then its first partition with its number and batch.
        try buffer.skip(4)
        guard let topics = try buffer.length(isFlexible: false), topics > 0 else { return nil }
        _ = try buffer.string(isFlexible: false)
        guard let partitions = try buffer.length(isFlexible: false), partitions > 0 else { return nil }
        try buffer.skip(4)
        guard let bytes = try buffer.length(isFlexible: false), bytes >= 53 else { return nil }
        try buffer.skip(43)
        return try ProducerIdentity(from: &buffer)
    }
}
