import NIOHTTP1

/// The rule of RFC 9112, section 3.2, for the `Host` header. Without it a proxy and the server may see different hosts.
enum HostRule {
    /// Whether a request has exactly one valid `Host`, or none in HTTP/1.0.
    static func allows(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["Host"]
        guard let host = hosts.first else { return head.version == .http1_0 }
        return hosts.count == 1 && host.utf8.allSatisfy(isPartOfHost)
    }

    /// Whether RFC 3986 allows the byte in a host name, an IP address or a port.
    private static func isPartOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
        }
    }
}
