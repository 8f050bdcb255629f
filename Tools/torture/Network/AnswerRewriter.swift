import NIOCore

/// The address of a broker, or of a listener in front of it.
struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: `host:port`, or `[host]:port` if the host contains colons.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, (1...65_535).contains(port) else { return nil }
        self.init(host: host, port: port)
    }

    /// Parses a comma-separated list of addresses.
    static func list(_ text: String) -> [BrokerAddress]? {
        let parts = text.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        let addresses = parts.compactMap { BrokerAddress($0) }
        return addresses.count == parts.count && !parts.isEmpty ? addresses : nil
    }
}

/// Keeps clients on the proxy: replaces broker addresses in responses by those of the listeners, and hides API versions whose
/// encodings the proxy cannot read.
enum AnswerRewriter {
    /// - Parameters:
    ///   - frame: the response, including the four bytes of its length.
    ///   - header: the header of the request.
    ///   - listener: returns the listener in front of a broker.
    /// - Throws: if a response that has to be rewritten cannot be read; unchanged it would let the client bypass the proxy.
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

    private static func clampVersions(_ frame: ByteBuffer, _ header: RequestHeader) throws(WireError) -> ByteBuffer {
        var rewritten = frame
        var buffer = frame
        // This response header is never flexible, because the client does not know the broker's versions yet.
        try buffer.skip(8)
        // The broker refuses an unknown version in the encoding of version 0, and the client asks again.
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
        _ frame: ByteBuffer, _ header: RequestHeader, _ listener: (BrokerAddress) throws -> BrokerAddress
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
            let start = buffer
            // The rack.
            _ = try buffer.string(isFlexible: false)
            rewritten.writeImmutableBuffer(copy(of: start, before: buffer))
        }
        return ended(rewritten, with: buffer)
    }

    private static func rewriteCoordinator(
        _ frame: ByteBuffer, _ header: RequestHeader, _ listener: (BrokerAddress) throws -> BrokerAddress
    ) throws -> ByteBuffer {
        guard header.version <= ApiKey.newestVersions[.findCoordinator, default: 0] else { throw WireError() }
        var buffer = frame
        try buffer.skip(8 + (header.version >= 1 ? 4 : 0))
        let error: Int16 = try buffer.integer()
        // Without a coordinator the address is meaningless.
        guard error == 0 else { return frame }
        if header.version >= 1 { _ = try buffer.string(isFlexible: false) }
        var rewritten = copy(of: frame, before: buffer)
        try copyBroker(&buffer, to: &rewritten, listener)
        return ended(rewritten, with: buffer)
    }

    /// Copies a broker's id, and its listener's address in place of its own.
    private static func copyBroker(
        _ buffer: inout ByteBuffer, to rewritten: inout ByteBuffer, _ listener: (BrokerAddress) throws -> BrokerAddress
    ) throws {
        rewritten.writeInteger(try buffer.integer(Int32.self))
        guard let host = try buffer.string(isFlexible: false) else { throw WireError() }
        let address = try listener(BrokerAddress(host: host, port: Int(try buffer.integer(Int32.self))))
        rewritten.writeInteger(Int16(address.host.utf8.count))
        rewritten.writeString(address.host)
        rewritten.writeInteger(Int32(address.port))
    }

    private static func copy(of frame: ByteBuffer, before rest: ByteBuffer) -> ByteBuffer {
        frame.getSlice(at: frame.readerIndex, length: rest.readerIndex - frame.readerIndex) ?? ByteBuffer()
    }

    /// Appends the rest of the response, and updates the length.
    private static func ended(_ rewritten: ByteBuffer, with rest: ByteBuffer) -> ByteBuffer {
        var rewritten = rewritten
        rewritten.writeImmutableBuffer(rest)
        rewritten.setInteger(Int32(rewritten.readableBytes - 4), at: 0)
        return rewritten
    }
}
