/// What staff must know to edit stock.
public struct StaffToken: Sendable {
    /// The fewest bytes a token has: whoever has many addresses can try often.
    public static let minimumLength = 16
    /// The most bytes a token has.
    public static let maximumLength = 256

    private let bytes: [UInt8]

    /// A token of this text; nil when it is too short or too long, or cannot be written into a header.
    public init?(_ text: String) {
        guard (Self.minimumLength...Self.maximumLength).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        bytes = Array(text.utf8)
    }

    /// Whether a text is the token. It takes as long for one that is nearly right as for any other of its length.
    func matches(_ text: some StringProtocol) -> Bool {
        let given = Array(text.utf8.prefix(Self.maximumLength + 1))
        var difference = given.count ^ bytes.count
        for (index, byte) in given.enumerated() {
            difference |= Int(byte ^ bytes[index % bytes.count])
        }
        return difference == 0
    }

    /// Whether the value of a header `Authorization` is `Bearer` and the token.
    func matches(authorization: String?) -> Bool {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return false }
        return matches(authorization.dropFirst(7))
    }
}

extension StaffToken: CustomStringConvertible {
    /// Hides the token: a configuration may be printed.
    public var description: String { "********" }
}
