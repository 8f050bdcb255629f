/// Text in memory that someone else owns: UTF-8 bytes, neither copied nor kept alive.
///
/// Its lifetime is its owner's. A text that a decoder returned is valid until that decoder decodes again; a
/// text made of a record's key is valid as long as the record. Whoever needs it for longer copies it:
/// `String(text)`, or into a ``ByteKeyTable``. That is the price for reading a record without a single
/// allocation, and the compiler helps to pay it: the type is not `Sendable`, so at least it cannot leave for
/// another thread.
///
/// Two texts are equal when their bytes are. Ids are compared this way, never by Unicode's canonical
/// equivalence.
public struct BorrowedText: Equatable {
    /// The bytes of the text.
    public let bytes: UnsafeRawBufferPointer

    /// The text in these bytes, which the caller knows to be UTF-8.
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// A literal, which is valid for as long as the process.
    public init(_ literal: StaticString) {
        self.init(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Calls `body` with a string as a borrowed text, valid during the call.
    public static func withText<Result>(
        _ string: String,
        _ body: (BorrowedText) throws -> Result
    ) rethrows -> Result {
        var string = string
        return try string.withUTF8 { try body(BorrowedText(UnsafeRawBufferPointer($0))) }
    }

    /// Whether the bytes are the same.
    public static func == (first: BorrowedText, second: BorrowedText) -> Bool {
        first.bytes.hasSameBytes(as: second.bytes)
    }
}

extension String {
    /// A copy of a borrowed text.
    public init(_ text: BorrowedText) {
        self.init(decoding: text.bytes, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    // Most texts that differ have another length, which is no reason to call a function.
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && hasSameBytesOfSameCount(as: other)
    }

    // Ids are compared several times for every record, and `elementsEqual` goes byte by byte. Here the last word overlaps
    // the one before it, so that only texts of fewer than four bytes do.
    private func hasSameBytesOfSameCount(as other: UnsafeRawBufferPointer) -> Bool {
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
            guard
                loadUnaligned(fromByteOffset: offset, as: Word.self)
                    == other.loadUnaligned(fromByteOffset: offset, as: Word.self)
            else { return false }
            offset += size
        }
        return loadUnaligned(fromByteOffset: last, as: Word.self)
            == other.loadUnaligned(fromByteOffset: last, as: Word.self)
    }
}
