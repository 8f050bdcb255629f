import Foundation
import JuiceMessages

/// A record's value, and whether its schema must accept it.
public struct Sample: Encodable {
    /// The files in docs/schemas.
    enum Schema: String, Encodable {
        case order, restock, answer, stock, menu
        case journalNote = "journal-note"
        case deadLetterHeaders = "dead-letter-headers"

        /// The schema of a kind of command.
        init(_ kind: CommandKind) {
            switch kind {
            case .order, .cancel: self = .order
            case .restock: self = .restock
            }
        }
    }

    enum Origin: String, Encodable {
        /// A message of the tests of encoders and decoders.
        case golden
        /// Random, and written by the service's encoders.
        case generated
        /// Generated, and damaged so that it is invalid.
        case broken
    }

    let schema: Schema
    let origin: Origin
    /// The bytes of the record, as text.
    let value: String
    /// Whether the service accepts or writes it; nil if that depends on the menu.
    let valid: Bool?
    /// The damage, or the service's judgement.
    let note: String

    /// The sample as a line of JSON.
    public func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
