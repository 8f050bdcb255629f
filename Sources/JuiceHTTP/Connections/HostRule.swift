import NIOHTTP1

/// What RFC 9112, section 3.2, wants of the header `Host`: else two parties may take one request to be for two hosts.
enum HostRule {
    /// Whether a request names one host, or none as HTTP/1.0 may.
    static func allows(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["Host"]
        guard let host = hosts.first else { return head.version == .http1_0 }
        return hosts.count == 1 && host.utf8.allSatisfy(isPartOfHost)
    }

    /// Whether a byte can be in a name, an address or a port, as RFC 3986 writes them.
    private static func isPartOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
        }
    }
}
