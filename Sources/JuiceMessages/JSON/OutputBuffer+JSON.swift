extension OutputBuffer {
    /// Appends a text as a JSON string, with quotes and escapes.
    mutating func append(quoted text: BorrowedText) {
        append(byte: UInt8(ascii: "\""))
        append(escaped: text)
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends a string as a JSON string, with quotes and escapes.
    mutating func append(quoted text: String) { BorrowedText.withText(text) { append(quoted: $0) } }

    /// Appends a string as a part of a JSON string.
    mutating func append(escaped text: String) {
        BorrowedText.withText(text) { append(escaped: $0) }
    }

    /// Appends a text as a part of a JSON string.
    mutating func append(escaped text: BorrowedText) {
        let bytes = text.bytes
        if bytes.isPlain { return append(bytes) }
        var copied = 0
        for position in bytes.indices where Self.needsEscape(bytes[position]) {
            append(UnsafeRawBufferPointer(rebasing: bytes[copied..<position]))
            append(escapeOf: bytes[position])
            copied = position + 1
        }
        append(UnsafeRawBufferPointer(rebasing: bytes[copied...]))
    }

    // JSON requires no other escapes: all else, Hangul too, stands for itself.
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(escapeOf byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(#"\""#)
        case UInt8(ascii: "\\"): append(#"\\"#)
        case UInt8(ascii: "\n"): append(#"\n"#)
        case UInt8(ascii: "\r"): append(#"\r"#)
        case UInt8(ascii: "\t"): append(#"\t"#)
        default:
            append(#"\u00"#)
            append(byte: Self.hexDigit(byte >> 4))
            append(byte: Self.hexDigit(byte & 0xF))
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
