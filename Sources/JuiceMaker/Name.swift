/// An id of a store, a command, a fruit or a juice, compared and hashed by its UTF-8 bytes, as Kafka does.
///
/// `String` compares by Unicode's canonical equivalence: "é" in one code point and in two would be one id.
public struct Name: Hashable, Sendable {
    /// The id.
    public let text: String

    /// The name with this text.
    public init(_ text: String) { self.text = text }

    /// Whether the bytes are the same.
    public static func == (first: Name, second: Name) -> Bool {
        first.text.utf8.elementsEqual(second.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
