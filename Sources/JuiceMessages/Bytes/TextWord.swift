/// Eight bytes of a text, examined at once.
struct TextWord {
    /// How many bytes it has.
    static let size = 8

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// The first byte is the lowest.
    private let bits: UInt64

    init(_ address: UnsafeRawPointer) {
        bits = UInt64(littleEndian: address.loadUnaligned(as: UInt64.self))
    }

    var isASCII: Bool { bits & Self.highs == 0 }

    /// How many leading bytes are ASCII and stand for themselves in a JSON string: no quotes, no backslashes and no control
    /// characters.
    var plainCount: Int { (unplain & Self.highs).trailingZeroBitCount / 8 }

    /// Whether all bytes are such.
    var isPlain: Bool { unplain & Self.highs == 0 }

    /// The highest bit of the first byte that does not stand for itself is set.
    private var unplain: UInt64 {
        // The bit tricks for "has a byte less than n" and "has a zero byte". The borrow of the first byte they find may make
        // them wrong about later ones.
        let quotes = bits ^ Self.ones &* UInt64(UInt8(ascii: "\""))
        let backslashes = bits ^ Self.ones &* UInt64(UInt8(ascii: "\\"))
        return bits | (bits &- Self.ones &* 0x20) | (quotes &- Self.ones) | (backslashes &- Self.ones)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes satisfy `look`, eight at a time. The last word overlaps the one before it.
    ///
    /// - Returns: nil for fewer bytes.
    @inline(__always)
    private func allWords(_ look: (TextWord) -> Bool) -> Bool? {
        guard let baseAddress, count >= TextWord.size else { return nil }
        let last = count - TextWord.size
        var offset = 0
        while offset < last {
            guard look(TextWord(baseAddress + offset)) else { return false }
            offset += TextWord.size
        }
        return look(TextWord(baseAddress + last))
    }

    /// Whether all bytes are ASCII that stands for itself in a JSON string.
    var isPlain: Bool { allWords(\.isPlain) ?? allSatisfy(\.isPlain) }

    /// Whether the bytes are UTF-8.
    var isUTF8: Bool {
        // Almost every id is ASCII and needs no parser.
        if allWords(\.isASCII) ?? allSatisfy({ $0 < 0x80 }) { return true }
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
    /// Whether the byte is ASCII and stands for itself in a JSON string.
    fileprivate var isPlain: Bool {
        (0x20..<0x80).contains(self) && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
