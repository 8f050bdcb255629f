/// The number of columns that a text takes in a terminal.
///
/// Hangul, Han, Kana and emoji take two columns, combining marks none. Padding by the number of characters would misalign every
/// column after a Korean name.
enum DisplayWidth {
    /// The columns of a text without control characters.
    static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + width(of: $1) } }

    /// The text, truncated with "…" if it takes more than `columns`.
    static func clip(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var clipped = ""
        var used = 0
        for character in text {
            let width = width(of: character)
            if used + width > columns - 1 { break }
            clipped.append(character)
            used += width
        }
        return clipped + "…"
    }

    /// Where padded text stands.
    enum Alignment {
        case left
        case right
    }

    /// The text, padded with spaces to `columns`.
    static func pad(_ text: String, to columns: Int, _ alignment: Alignment = .left) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - of(text)))
        switch alignment {
        case .left: return text + spaces
        case .right: return spaces + text
        }
    }

    private static func width(of character: Character) -> Int {
        // A character is as wide as its widest scalar: a decomposed Hangul syllable is one block, and an emoji sequence one
        // emoji.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        return character.unicodeScalars.reduce(0) { max($0, width(of: $1)) }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        // The vowels and final consonants of a decomposed Hangul syllable take no columns of their own.
        if (0x1160...0x11FF).contains(scalar.value) { return 0 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// The ranges that Unicode's EastAsianWidth lists as wide or fullwidth, ignoring small gaps.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x23E9...0x23EC, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
        0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
        0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
    ]
}
