import Foundation

/// A value of a record, and whether it is what the schema describes.
public struct Sample: Encodable {
    /// The files in docs/schemas.
    enum Schema: String, Encodable {
        case order, restock, answer, stock, menu
        case deadLetterHeaders = "dead-letter-headers"
    }

    enum Origin: String, Encodable {
        /// Word for word what the tests of encoders and decoders go by.
        case golden
        /// Made at random and written by the service's own encoders.
        case generated
        /// A generated one with something changed that makes it wrong.
        case broken
    }

    let schema: Schema
    let origin: Origin
    /// The bytes of the record, as text.
    let value: String
    /// Whether the service takes it, or writes such a thing; nil when that depends on the menu.
    let valid: Bool?
    /// What was changed, or what the service says of it.
    let note: String

    /// The sample as a line of JSON.
    public func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
