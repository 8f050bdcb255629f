import Foundation

/// An IP address. One of version 4 has the bytes by which version 6 writes it, `::ffff:192.0.2.1`: both spellings are one.
struct IPAddress: Hashable, Sendable {
    /// The bits that version 6 puts before an address of version 4.
    static let lengthBeforeVersion4 = 96
    private static let bytesBeforeVersion4: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// Always 16.
    private let bytes: [UInt8]

    /// The address in numbers that a text is; nil for anything else.
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

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isVersion4: Bool { bytes.starts(with: Self.bytesBeforeVersion4) }

    /// The network of so many bits that it is in.
    func network(ofLength length: Int) -> IPAddress {
        IPAddress(
            bytes: bytes.enumerated().map { index, byte in
                byte & ~UInt8(truncatingIfNeeded: 0xFF >> min(8, max(0, length - 8 * index)))
            }
        )
    }

    /// What stands for one household or machine: of version 6 each has at least 2^64 addresses to choose from.
    var client: IPAddress { isVersion4 ? self : network(ofLength: 64) }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let (family, bytes) = isVersion4 ? (AF_INET, Array(bytes.suffix(4))) : (AF_INET6, bytes)
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
