extension Unicode.Scalar {
    /// Whether it would steer a terminal, end a line, or turn the direction of the text around it, so that people read
    /// something else than is there.
    fileprivate var isSteering: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension String {
    /// The text with control characters made visible, so that what came out of a topic cannot steer the terminal.
    package var printable: String {
        replacing { $0.isSteering ? "\u{FFFD}" : nil }
    }

    /// JSON with control characters as escapes. It means the same: those that JSON has outside of texts stay, and it takes
    /// no others but in texts.
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
