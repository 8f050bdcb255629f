extension BorrowedText {
    private static let maximumCharacters = 64
    // One character can have any number of accents.
    private static let maximumBytes = 1024

    /// A copy for a message: the first 64 characters and "…", or fewer if the characters are very long.
    ///
    /// It bounds the size of an answer that quotes its sender.
    func clipped() -> String {
        var end = bytes.count
        if end > Self.maximumBytes {
            end = Self.maximumBytes
            // Back to the start of a code point.
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
