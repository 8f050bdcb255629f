import Foundation
import JuiceClient

/// Encodes values as JSON with sorted members.
enum JSONText {
    /// On one line.
    static func line(_ value: some Encodable) -> String { (try? text(value, [])) ?? "{}" }

    /// Indented, for programs and people.
    static func indented(_ value: some Encodable) throws -> String {
        try text(value, .prettyPrinted)
    }

    private static func text(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: try encoder.encode(value), as: UTF8.self).printableJSON
    }
}
