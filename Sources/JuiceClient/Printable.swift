extension Unicode.Scalar {
    /// Whether it could control a terminal, break the line, or reverse the direction of the surrounding text, so that people read
    /// something other than what is there.
    fileprivate var isSteering: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension String {
    /// The text with control characters replaced, so that data from a topic cannot control the terminal.
    package var printable: String {
        replacing { $0.isSteering ? "\u{FFFD}" : nil }
    }

    /// JSON with control characters escaped. The meaning does not change: JSON allows them only in strings, except for whitespace,
    /// which is kept.
    package var printableJSON: String {
        replacing { scalar in
            guard scalar.isSteering, scalar.value >= 0x7F else { return nil }
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    private func replacing(_ replacement: (Unicode.Scalar) -> String?) -> String {
        guard unicodeScalars.contains(where: \.isSteering) else { return self }
        return unicodeScalars.reduce(into: "") { $0 += replacement($1) ?? String($1) }
    }
}
