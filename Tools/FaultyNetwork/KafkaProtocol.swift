import NIOCore

/// A kind of request, by its number in Kafka's protocol.
package enum ApiKey: Int16, CaseIterable, Sendable {
    case produce = 0, fetch, listOffsets, metadata
    case offsetCommit = 8, offsetFetch, findCoordinator, joinGroup, heartbeat, leaveGroup, syncGroup
    case apiVersions = 18, initProducerId = 22, offsetForLeaderEpoch, addPartitionsToTxn, endTxn = 26, describeConfigs = 32
    /// Any other kind.
    case other = -1

    /// The name in Kafka's documentation, such as `EndTxn`.
    package var name: String {
        let name = "\(self)"
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    /// The requests of a transaction.
    static let transactional: Set<ApiKey> = [.produce, .initProducerId, .addPartitionsToTxn, .endTxn]

    /// The newest versions that clients may use, so that only their encodings have to be read. Newer versions of Fetch and Produce
    /// name other brokers, which clients would reach directly.
    static let newestVersions: [ApiKey: Int16] = [
        .produce: 7, .fetch: 11, .metadata: 8, .findCoordinator: 2, .initProducerId: 4, .addPartitionsToTxn: 2, .endTxn: 2,
    ]
}

/// Bytes that violate Kafka's protocol, or a version that clients must not use.
struct WireError: Error {}

/// A producer id and epoch.
struct ProducerIdentity: Hashable, Sendable {
    let id: Int64
    let epoch: Int16
}

// MARK: - Requests and responses

/// The parts of a request that the proxy reads.
struct Request: Equatable, Sendable {
    let key: ApiKey
    let version: Int16
    let correlationID: Int32
    var transactionalID: String?
    /// The sender's id and epoch; nil if the request has none, like the first InitProducerId.
    var producer: ProducerIdentity?

    /// - Parameter frame: the request, including the four bytes of its length.
    /// - Throws: if the header cannot be read. An unreadable body is ignored.
    init(frame: ByteBuffer) throws(WireError) {
        var buffer = frame
        try buffer.skip(4)
        key = ApiKey(rawValue: try buffer.integer()) ?? .other
        version = try buffer.integer()
        correlationID = try buffer.integer()
        // The client id is never compact, not even in flexible requests.
        _ = try buffer.string()
        guard ApiKey.transactional.contains(key), isKnown else { return }
        try buffer.skipTags(isFlexible)
        try? readBody(&buffer)
    }

    /// Whether clients may use this version.
    fileprivate var isKnown: Bool { ApiKey.newestVersions[key].map { version <= $0 } ?? false }

    /// Whether strings and counts have compact encodings. No other requests that the proxy reads have them.
    fileprivate var isFlexible: Bool { key == .initProducerId && version >= 2 || key == .apiVersions && version >= 3 }

    private mutating func readBody(_ buffer: inout ByteBuffer) throws(WireError) {
        if key == .produce {
            transactionalID = try buffer.string()
            // The acks; transactions need all.
            try buffer.skip(2)
            producer = try buffer.producerOfFirstBatch()
        } else {
            transactionalID = try buffer.string(isFlexible: isFlexible)
            // The transaction's timeout.
            if key == .initProducerId { try buffer.skip(4) }
            producer = try buffer.producer()
        }
    }
}

/// The parts that the proxy reads of a response to a transactional request.
struct Response: Equatable, Sendable {
    /// Kafka's error code, 0 for none. If there are several, the first error.
    var error: Int16 = 0
    /// The id and epoch that InitProducerId returns.
    var producer: ProducerIdentity?
}

extension Response {
    /// - Parameter frame: the response, including the four bytes of its length.
    /// - Returns: nil if it cannot be read, or if the request is not transactional.
    init?(frame: ByteBuffer, to request: Request) {
        guard ApiKey.transactional.contains(request.key), request.isKnown else { return nil }
        self.init()
        var buffer = frame
        do { try read(&buffer, request) } catch { return nil }
    }

    private mutating func read(_ buffer: inout ByteBuffer, _ request: Request) throws(WireError) {
        // The length and the correlation id.
        try buffer.skip(8)
        try buffer.skipTags(request.isFlexible)
        // The throttle time, which Produce has at its end.
        if request.key != .produce { try buffer.skip(4) }
        switch request.key {
        // The offset and the time of the records, and where the log starts.
        case .produce: try readPartitions(&buffer, bytesAfterError: request.version >= 5 ? 24 : 16)
        case .addPartitionsToTxn: try readPartitions(&buffer, bytesAfterError: 0)
        case .initProducerId:
            error = try buffer.integer()
            producer = try buffer.producer()
        default: error = try buffer.integer()
        }
    }

    private mutating func readPartitions(_ buffer: inout ByteBuffer, bytesAfterError: Int) throws(WireError) {
        for _ in 0..<(try buffer.count()) {
            _ = try buffer.string()
            for _ in 0..<(try buffer.count()) {
                try buffer.skip(4)
                let code: Int16 = try buffer.integer()
                if error == 0 { error = code }
                try buffer.skip(bytesAfterError)
            }
        }
    }
}

// MARK: - Responses that name brokers

/// The address of a broker, or of a listener in front of it.
struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Its encoding in responses.
    fileprivate var encoded: [UInt8] {
        var buffer = ByteBuffer(integer: Int16(host.utf8.count))
        buffer.writeString(host)
        buffer.writeInteger(Int32(port))
        return Array(buffer.readableBytesView)
    }
}

extension BrokerAddress {
    /// - Parameter text: `host:port`, or `[host]:port` if the host contains colons.
    init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, (1...65_535).contains(port) else { return nil }
        self.init(host: host, port: port)
    }

    /// The addresses in a comma-separated list; nil if it is empty or an address is invalid.
    static func list(_ text: String) -> [BrokerAddress]? {
        let addresses = text.split(separator: ",").map { BrokerAddress($0.filter { !$0.isWhitespace }) }
        return addresses.isEmpty || addresses.contains(nil) ? nil : addresses.compactMap(\.self)
    }
}

extension Request {
    /// A response that is safe for the client: with listeners in place of brokers, and without versions that the proxy cannot read.
    ///
    /// - Parameter listeners: the listener in front of each broker.
    /// - Throws: ``WireError`` if it cannot be read: unchanged, it could lead the client past the proxy.
    func rewritten(_ frame: ByteBuffer, _ listeners: [BrokerAddress: BrokerAddress]) throws(WireError) -> ByteBuffer {
        switch key {
        case .apiVersions: return try withKnownVersions(frame)
        case .metadata, .findCoordinator:
            guard isKnown else { throw WireError() }
            let body = listeners.reduce(Array(frame.readableBytesView.dropFirst(4))) { body, pair in
                body.replacing(pair.key.encoded, with: pair.value.encoded)
            }
            var rewritten = ByteBuffer(integer: Int32(body.count))
            rewritten.writeBytes(body)
            return rewritten
        default: return frame
        }
    }

    private func withKnownVersions(_ frame: ByteBuffer) throws(WireError) -> ByteBuffer {
        var (buffer, rewritten) = (frame, frame)
        // This response's header is never flexible, because the client does not know the broker's versions yet.
        try buffer.skip(8)
        // The broker refuses an unknown version in the encoding of version 0, and the client asks again.
        let isFlexible = try buffer.integer(Int16.self) == 0 && isFlexible
        for _ in 0..<(try buffer.count(isFlexible: isFlexible)) {
            let key = ApiKey(rawValue: try buffer.integer()) ?? .other
            let oldest: Int16 = try buffer.integer()
            let place = buffer.readerIndex
            let newest: Int16 = try buffer.integer()
            try buffer.skipTags(isFlexible)
            guard let limit = ApiKey.newestVersions[key], limit < newest else { continue }
            guard limit >= oldest else { throw WireError() }
            rewritten.setInteger(limit, at: place)
        }
        return rewritten
    }
}

// MARK: - Kafka's encodings

extension ByteBuffer {
    fileprivate mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(WireError) -> Value {
        guard let value = readInteger(as: Value.self) else { throw WireError() }
        return value
    }

    fileprivate mutating func skip(_ count: Int) throws(WireError) {
        guard count >= 0, count <= readableBytes else { throw WireError() }
        moveReaderIndex(forwardBy: count)
    }

    /// The number of elements or bytes that follow; 0 for null.
    fileprivate mutating func count(isFlexible: Bool = false) throws(WireError) -> Int {
        max(0, isFlexible ? try varint() - 1 : Int(try integer(Int32.self)))
    }

    /// A string; nil for null.
    fileprivate mutating func string(isFlexible: Bool = false) throws(WireError) -> String? {
        let length = isFlexible ? try varint() - 1 : Int(try integer(Int16.self))
        guard length >= 0 else { return nil }
        guard let text = readString(length: length) else { throw WireError() }
        return text
    }

    /// Skips the tagged fields, which only flexible versions have.
    fileprivate mutating func skipTags(_ isFlexible: Bool) throws(WireError) {
        guard isFlexible else { return }
        for _ in 0..<(try varint()) {
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

    fileprivate mutating func producer() throws(WireError) -> ProducerIdentity? {
        let producer = ProducerIdentity(id: try integer(), epoch: try integer())
        return producer.id < 0 ? nil : producer
    }

    /// The producer that the first batch of a Produce request names. The buffer is at the request's timeout.
    fileprivate mutating func producerOfFirstBatch() throws(WireError) -> ProducerIdentity? {
        try skip(4)
        guard try count() > 0 else { return nil }
        _ = try string()
        guard try count() > 0 else { return nil }
        // The partition's number and, after the size of the batch, the fields before its producer.
        try skip(4)
        guard try count() >= 53 else { return nil }
        try skip(43)
        return try producer()
    }
}
