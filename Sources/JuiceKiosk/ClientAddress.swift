import Foundation

/// An IP address. An IPv4 address is stored as IPv4-mapped IPv6, `::ffff:192.0.2.1`, so that both notations are equal.
struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    private static let bytesBeforeVersion4: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// Always 16 bytes.
    private let bytes: [UInt8]

    /// Parses a numeric address; nil for anything else.
    init?(_ text: some StringProtocol) {
        let text = String(text)
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Self.bytesBeforeVersion4 + bytes.prefix(4)
        } else {
            return nil
        }
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// How many bits precede the address as it is written: those of the prefix of an IPv4-mapped address.
    fileprivate var bitsBefore: Int { isVersion4 ? 8 * Self.bytesBeforeVersion4.count : 0 }

    private var isVersion4: Bool { bytes.starts(with: Self.bytesBeforeVersion4) }

    /// The address with all bits after the first `length` cleared.
    fileprivate func network(ofLength length: Int) -> IPAddress {
        IPAddress(
            bytes: bytes.enumerated().map { index, byte in
                byte & ~UInt8(truncatingIfNeeded: 0xFF >> min(8, max(0, length - 8 * index)))
            })
    }

    /// What identifies one household or machine. In IPv6 each has a whole /64 network, 2^64 addresses.
    var client: IPAddress { isVersion4 ? self : network(ofLength: 64) }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let (family, bytes) = isVersion4 ? (AF_INET, Array(bytes.suffix(4))) : (AF_INET6, bytes)
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// One IP address, or a network such as `10.0.0.0/8`.
package struct AddressRange: Sendable, Equatable {
    private let network: IPAddress
    /// The prefix length in bits, counted in an IPv6 address.
    private let length: Int

    /// Parses an address or a network; nil for anything else, and for a network with host bits set.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
        if parts.count == 2 {
            guard let length = UInt8(parts[1]), address.bitsBefore + Int(length) <= 128 else { return nil }
            self.length = address.bitsBefore + Int(length)
        } else {
            length = 128
        }
        network = address.network(ofLength: length)
        guard network == address else { return nil }
    }

    func contains(_ address: IPAddress) -> Bool { address.network(ofLength: length) == network }
}

extension IPAddress {
    /// The client's address if this is the remote address of a connection: the nearest one that is no trusted proxy. What an
    /// untrusted address claims may be forged.
    ///
    /// - Parameter forwardedFor: the values of `X-Forwarded-For`. Each proxy appends the address it was asked from.
    func client(forwardedFor: [String], by trusted: [AddressRange]) -> IPAddress {
        var client = self
        for claim in forwardedFor.flatMap({ $0.split(separator: ",") }).reversed() {
            guard trusted.contains(where: { $0.contains(client) }), let next = Self.claimed(claim) else { break }
            client = next
        }
        return client
    }

    /// The address in one entry of the header; some proxies append the port.
    private static func claimed(_ claim: Substring) -> IPAddress? {
        let text = claim.filter { $0 != " " && $0 != "\t" }
        if let address = IPAddress(text) { return address }
        if text.hasPrefix("[") { return IPAddress(text.dropFirst().prefix { $0 != "]" }) }
        return IPAddress(text.prefix { $0 != ":" })
    }
}
