import CProcessor

/// A view of UTF-8 text in memory that it neither owns nor keeps alive. It allows reading a record without an allocation.
///
/// A text from a decoder is valid until that decoder decodes again; a text made of a record's key is valid as long as the
/// record. To keep it for longer, copy it: `String(text)`, or into a ``ByteKeyTable``. It is not `Sendable`, so that it
/// cannot outlive its owner on another thread.
///
/// Two texts are equal if their bytes are. Ids are compared this way, never by Unicode's canonical equivalence.
public struct BorrowedText: Equatable {
    /// Its bytes, in UTF-8.
    public let bytes: UnsafeRawBufferPointer

    /// The text in these bytes, which must be UTF-8.
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// A literal, valid for the life of the process.
    public init(_ literal: StaticString) {
        self.init(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Calls `body` with a string as a borrowed text, valid during the call.
    public static func withText<Result>(_ string: String, _ body: (BorrowedText) throws -> Result) rethrows -> Result {
        var string = string
        return try string.withUTF8 { try body(BorrowedText(UnsafeRawBufferPointer($0))) }
    }

    /// Whether the bytes are the same.
    public static func == (first: BorrowedText, second: BorrowedText) -> Bool {
        first.bytes.hasSameBytes(as: second.bytes)
    }

    /// Lets a `switch` compare a text with literals.
    @inline(__always)
    static func ~= (literal: StaticString, text: BorrowedText) -> Bool {
        let literal = BorrowedText(literal).bytes
        return text.bytes.count == literal.count && text.bytes.hasSameWords(as: literal)
    }

    /// A copy for a message: the first 64 characters and "…", or fewer if the characters are very long.
    ///
    /// It bounds the size of an answer that quotes its sender.
    func clipped() -> String {
        // One character can have any number of accents.
        var end = min(bytes.count, 1024)
        let isCut = end < bytes.count
        // Back to the start of a code point.
        while isCut, end > 0, bytes[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
        var text = Substring(String(decoding: bytes[..<end], as: UTF8.self))
        // The last character may go on after the cut.
        if isCut { text = text.dropLast() }
        let clipped = text.prefix(64)
        return isCut || clipped.endIndex < text.endIndex ? clipped + "…" : String(clipped)
    }
}

extension String {
    /// A copy of the text.
    public init(_ text: BorrowedText) { self.init(decoding: text.bytes, as: UTF8.self) }
}

extension UnsafeRawBufferPointer {
    /// The number whose decimal digits these are; nil with a sign, a leading zero, or beyond 64 bits.
    var decimal: Int? {
        guard let first, count == 1 || first != UInt8(ascii: "0") else { return nil }
        var number = 0
        for byte in self {
            let digit = byte &- UInt8(ascii: "0")
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(Int(digit))
            guard digit < 10, !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        return number
    }

    // Most texts that differ have different lengths: those need no call.
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && hasSameBytesOfSameCount(as: other)
    }

    private func hasSameBytesOfSameCount(as other: UnsafeRawBufferPointer) -> Bool { hasSameWords(as: other) }

    // Ids are compared several times per record, and `elementsEqual` compares byte by byte. Here the last word overlaps the one
    // before it, so that only texts of fewer than four bytes are compared that way. Inlined, because only one or two comparisons
    // remain for a literal, whose length is known.
    @inline(__always)
    fileprivate func hasSameWords(as other: UnsafeRawBufferPointer) -> Bool {
        if count >= 8 { return hasSameWords(as: other, UInt64.self) }
        if count >= 4 { return hasSameWords(as: other, UInt32.self) }
        for offset in 0..<count where self[offset] != other[offset] { return false }
        return true
    }

    @inline(__always)
    private func hasSameWords<Word: FixedWidthInteger & BitwiseCopyable>(
        as other: UnsafeRawBufferPointer,
        _: Word.Type
    ) -> Bool {
        let (size, last) = (MemoryLayout<Word>.size, count - MemoryLayout<Word>.size)
        var offset = 0
        while offset < last {
            guard loadUnaligned(fromByteOffset: offset, as: Word.self) == other.loadUnaligned(fromByteOffset: offset, as: Word.self)
            else { return false }
            offset += size
        }
        return loadUnaligned(fromByteOffset: last, as: Word.self) == other.loadUnaligned(fromByteOffset: last, as: Word.self)
    }

    /// Whether all bytes are ASCII that needs no escape in a JSON string.
    var isPlain: Bool {
        guard let baseAddress, count >= 8 else { return allSatisfy(\.isPlain) }
        // The last bytes to be checked overlap those before them.
        var last = count - 16
        if last < 0 {
            var both = (loadUnaligned(as: UInt64.self), loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
            return plain_count(&both) == 16
        }
        while last > 0 {
            guard plain_count(baseAddress + last) == 16 else { return false }
            last -= 16
        }
        return plain_count(baseAddress) == 16
    }

    var isUTF8: Bool {
        // Almost every id is ASCII and needs no parser.
        if isPlain { return true }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}

extension UInt8 {
    /// Whether JSON requires an escape for the byte. Everything else, Hangul too, is written as it is.
    var needsEscape: Bool { self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\") }

    /// Whether the byte is ASCII and needs no escape in a JSON string.
    fileprivate var isPlain: Bool { self < 0x80 && !needsEscape }
}
