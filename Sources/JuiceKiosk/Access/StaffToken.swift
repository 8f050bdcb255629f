/// The secret that staff need to edit stock.
public struct StaffToken: Sendable {
    /// The shortest token, in bytes: an attacker with many addresses can try often.
    public static let minimumLength = 16
    /// The longest token, in bytes.
    public static let maximumLength = 256

    private let bytes: [UInt8]

    /// Creates a token; nil if the text is too short, too long, or not printable ASCII without spaces, as a header needs it.
    public init?(_ text: String) {
        guard (Self.minimumLength...Self.maximumLength).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        bytes = Array(text.utf8)
    }

    /// Whether the text is the token. The time depends on the text's length only, not on how much of it is right.
    func matches(_ text: some StringProtocol) -> Bool {
        let given = Array(text.utf8.prefix(Self.maximumLength + 1))
        var difference = given.count ^ bytes.count
        for (index, byte) in given.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    /// Whether the value of an `Authorization` header is `Bearer` and the token.
    func matches(authorization: String?) -> Bool {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return false }
        return matches(authorization.dropFirst(7))
    }
}

extension StaffToken: CustomStringConvertible {
    /// Hides the token: configurations may be printed.
    public var description: String { "********" }
}
