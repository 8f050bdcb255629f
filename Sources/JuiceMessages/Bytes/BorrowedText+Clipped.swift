extension BorrowedText {
    private static let maximumCharacters = 64
    // One character can have any number of accents.
    private static let maximumBytes = 1024

    /// A copy for a message: the first 64 characters and then "…", or less of a text whose characters are
    /// very long.
    ///
    /// An answer must not grow with what a sender puts into a field.
    func clipped() -> String {
        var end = bytes.count
        if end > Self.maximumBytes {
            end = Self.maximumBytes
            // Back to where a code point begins.
            while end > 0 && bytes[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
        }
        var text = Substring(String(decoding: bytes[..<end], as: UTF8.self))
        if end < bytes.count {
            // The last character may go on after the cut.
            text = text.dropLast()
        }
        let clipped = text.prefix(Self.maximumCharacters)
        let isWhole = end == bytes.count && clipped.endIndex == text.endIndex
        return isWhole ? String(clipped) : clipped + "…"
    }
}
