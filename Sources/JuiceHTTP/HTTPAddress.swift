/// Where a server listens: a host's name or address, and a port.
public struct HTTPAddress: Sendable, Equatable, CustomStringConvertible {
    /// The name or address; an IPv6 address without its brackets.
    public let host: String
    /// The port; 0 leaves the choice to the system.
    public let port: Int

    /// An address of these parts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address written as `host:port`, an IPv6 address as `[::1]:8080`; nil for anything else.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, !host.contains(where: \.isWhitespace) else { return nil }
        self.init(host: String(host), port: Int(port))
    }

    /// As it is written in a URL.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
