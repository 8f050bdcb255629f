import NIOCore

/// Where a broker, or a listener in front of it, is.
struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: `host:port`, or `[host]:port` where the host has colons itself.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, (1...65_535).contains(port) else { return nil }
        self.init(host: host, port: port)
    }

    /// The addresses in a list with commas, as clients take it.
    static func list(_ text: String) -> [BrokerAddress]? {
        let parts = text.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        let addresses = parts.compactMap { BrokerAddress($0) }
        return addresses.count == parts.count && !parts.isEmpty ? addresses : nil
    }
}

/// Leads clients through the proxy: answers that name brokers name its listeners instead, and clients are told of no versions
/// whose encodings the proxy does not read.
enum AnswerRewriter {
    /// - Parameters:
    ///   - frame: the answer with the four bytes of its length.
    ///   - header: of the request that it answers.
    ///   - listener: what stands in front of a broker.
    /// - Throws: where an answer that has to be rewritten cannot be read: with it the client would go past the proxy.
    static func rewrite(
        _ frame: ByteBuffer,
        to header: RequestHeader,
        listener: (BrokerAddress) throws -> BrokerAddress
    ) throws -> ByteBuffer {
        switch header.key {
        case .apiVersions: try clampVersions(frame, header)
        case .metadata: try rewriteMetadata(frame, header, listener)
        case .findCoordinator: try rewriteCoordinator(frame, header, listener)
        default: frame
        }
    }

    private static func clampVersions(
        _ frame: ByteBuffer,
        _ header: RequestHeader
    ) throws(WireError) -> ByteBuffer {
        var rewritten = frame
        var buffer = frame
        // The answer's header is never flexible here, since the asker does not know yet what the broker speaks.
        try buffer.skip(8)
        // A version that the broker does not know is refused in the encoding of version 0, and asked for again.
        let isFlexible = try buffer.integer(Int16.self) == 0 && header.isFlexible
        for _ in 0..<(try buffer.length(isFlexible: isFlexible) ?? 0) {
            let key = ApiKey(rawValue: try buffer.integer())
            let oldest: Int16 = try buffer.integer()
            let place = buffer.readerIndex
            let newest: Int16 = try buffer.integer()
            try buffer.skipTags(isFlexible: isFlexible)
            guard let limit = ApiKey.newestVersions[key], limit < newest else { continue }
            guard limit >= oldest else { throw WireError() }
            rewritten.setInteger(limit, at: place)
        }
        return rewritten
    }

    private static func rewriteMetadata(
        _ frame: ByteBuffer,
        _ header: RequestHeader,
        _ listener: (BrokerAddress) throws -> BrokerAddress
    ) throws -> ByteBuffer {
        guard header.version <= ApiKey.newestVersions[.metadata, default: 0] else { throw WireError() }
        var buffer = frame
        try buffer.skip(8 + (header.version >= 3 ? 4 : 0))
        var rewritten = copy(of: frame, before: buffer)
        let count = try buffer.length(isFlexible: false) ?? 0
        rewritten.writeInteger(Int32(count))
        for _ in 0..<count {
            try copyBroker(&buffer, to: &rewritten, listener)
            guard header.version >= 1 else { continue }
            let start = buffer.readerIndex
            // The rack.
            _ = try buffer.string(isFlexible: false)
            rewritten.writeImmutableBuffer(slice(of: frame, from: start, to: buffer.readerIndex))
        }
        return ended(rewritten, with: buffer)
    }

    private static func rewriteCoordinator(
        _ frame: ByteBuffer,
        _ header: RequestHeader,
        _ listener: (BrokerAddress) throws -> BrokerAddress
    ) throws -> ByteBuffer {
        guard header.version <= ApiKey.newestVersions[.findCoordinator, default: 0] else { throw WireError() }
        var buffer = frame
        try buffer.skip(8 + (header.version >= 1 ? 4 : 0))
        let error: Int16 = try buffer.integer()
        // Where there is none, its address is nonsense.
        guard error == 0 else { return frame }
        if header.version >= 1 { _ = try buffer.string(isFlexible: false) }
        var rewritten = copy(of: frame, before: buffer)
        try copyBroker(&buffer, to: &rewritten, listener)
        return ended(rewritten, with: buffer)
    }

    /// Copies a broker's number, and its listener in place of its address.
    private static func copyBroker(
        _ buffer: inout ByteBuffer,
        to rewritten: inout ByteBuffer,
        _ listener: (BrokerAddress) throws -> BrokerAddress
    ) throws {
        rewritten.writeInteger(try buffer.integer(Int32.self))
        guard let host = try buffer.string(isFlexible: false) else { throw WireError() }
        let address = try listener(BrokerAddress(host: host, port: Int(try buffer.integer(Int32.self))))
        rewritten.writeInteger(Int16(address.host.utf8.count))
        rewritten.writeString(address.host)
        rewritten.writeInteger(Int32(address.port))
    }

    private static func copy(of frame: ByteBuffer, before rest: ByteBuffer) -> ByteBuffer {
        var copy = ByteBuffer()
        copy.writeImmutableBuffer(slice(of: frame, from: frame.readerIndex, to: rest.readerIndex))
        return copy
    }

    private static func slice(of frame: ByteBuffer, from start: Int, to end: Int) -> ByteBuffer {
        frame.getSlice(at: start, length: end - start) ?? ByteBuffer()
    }

    /// Adds what follows the addresses, and sets the length anew.
    private static func ended(_ rewritten: ByteBuffer, with rest: ByteBuffer) -> ByteBuffer {
        var rewritten = rewritten
        rewritten.writeImmutableBuffer(rest)
        rewritten.setInteger(Int32(rewritten.readableBytes - 4), at: 0)
        return rewritten
    }
}
