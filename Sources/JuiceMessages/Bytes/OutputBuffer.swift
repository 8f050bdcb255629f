/// A byte buffer that keeps its memory for the next message.
///
/// Everything is appended; ``removeAll()`` starts over and keeps the memory. It owns its memory and cannot be copied: an
/// array would check its uniqueness for each of the twenty pieces of an answer.
public struct OutputBuffer: ~Copyable {
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int

    package private(set) var count = 0

    /// An empty buffer with room for `capacity` bytes. It grows as needed.
    public init(capacity: Int = 1024) {
        self.capacity = max(capacity, 64)
        memory = Self.allocate(self.capacity)
    }

    deinit { memory.deallocate() }

    /// Empties the buffer and keeps its memory.
    public mutating func removeAll() { count = 0 }

    /// The bytes, valid until the buffer is appended to or destroyed.
    public var unsafeBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    /// A copy of what was appended.
    public var bytes: [UInt8] { Array(unsafeBytes) }

    /// What was appended, as a text.
    public var text: String { String(decoding: unsafeBytes, as: UTF8.self) }
}

extension OutputBuffer {
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        free(bytes.count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    // Inlined, because a literal's length is known: only a few stores remain.
    @inline(__always)
    mutating func append(_ literal: StaticString) { append(BorrowedText(literal).bytes) }

    /// How many bytes of a text are copied at once by ``append(words:)``.
    static var wordSize: Int { MemoryLayout<Word>.size }
    private typealias Word = SIMD16<UInt8>

    /// Appends bytes that are followed by ``wordSize`` others, which may be read, so that copying a few bytes needs no call.
    @inline(__always)
    mutating func append(words bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        let target = free(bytes.count + Self.wordSize)
        var offset = 0
        repeat {
            target.storeBytes(of: source.loadUnaligned(fromByteOffset: offset, as: Word.self), toByteOffset: offset, as: Word.self)
            offset += Self.wordSize
        } while offset < bytes.count
        count += bytes.count
    }

    @inline(__always)
    mutating func append(byte: UInt8) {
        free(1).storeBytes(of: byte, as: UInt8.self)
        count += 1
    }

    /// Appends an integer in decimal digits.
    mutating func append(decimal value: Int) {
        if value < 0 { append(byte: UInt8(ascii: "-")) }
        var magnitude = UInt64(value.magnitude)
        if magnitude < 10 { return append(byte: UInt8(ascii: "0") + UInt8(magnitude)) }
        if magnitude < 100 {
            // The number times 103 / 1,024 is its tens.
            let tens = (UInt16(magnitude) &* 103) >> 10
            let digits = 0x3030 | tens | (UInt16(magnitude) &- tens &* 10) << 8
            free(2).storeBytes(of: digits.littleEndian, as: UInt16.self)
            count += 2
            return
        }
        let hasMore = magnitude >= 100_000_000
        if hasMore {
            append(decimal: Int(magnitude / 100_000_000))
            magnitude %= 100_000_000
        }
        // Eight digits, in a word that is written with one store. After more significant digits, the leading zeros count, too.
        let digits = Self.eightDigits(of: magnitude)
        let unused = hasMore ? 0 : digits.trailingZeroBitCount & ~7
        let word = (digits | 0x3030_3030_3030_3030) >> UInt64(unused)
        free(8).storeBytes(of: word.littleEndian, as: UInt64.self)
        count += 8 - unused / 8
    }

    /// The eight decimal digits of a number, the first one in the lowest byte: halves, pairs and digits are divided in parallel.
    @inline(__always)
    private static func eightDigits(of number: UInt64) -> UInt64 {
        let halves = number / 10_000 | (number % 10_000) << 32
        let hundreds = (halves &* 10_486) >> 20 & 0x7F_0000_007F
        let pairs = hundreds | (halves &- hundreds &* 100) << 16
        let tens = (pairs &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (pairs &- tens &* 10) << 8
    }

    // Where the next bytes go, with room for this many.
    @inline(__always)
    private mutating func free(_ wanted: Int) -> UnsafeMutableRawPointer {
        if capacity - count < wanted { grow(by: wanted) }
        return memory + count
    }

    // Kept out of `free`, which is then small enough to be inlined into every append.
    @inline(never)
    private mutating func grow(by wanted: Int) {
        capacity = max(capacity * 2, count + wanted)
        let larger = Self.allocate(capacity)
        larger.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        memory = larger
    }

    private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
        .allocate(byteCount: capacity, alignment: 1)
    }
}

extension OutputBuffer {
    /// Appends a text as a JSON string, with quotes and escapes.
    mutating func append(quoted text: BorrowedText) {
        append(byte: UInt8(ascii: "\""))
        append(escaped: text)
        append(byte: UInt8(ascii: "\""))
    }

    mutating func append(quoted text: String) { BorrowedText.withText(text) { append(quoted: $0) } }

    /// Appends a text as a part of a JSON string.
    mutating func append(escaped text: BorrowedText) {
        let bytes = text.bytes
        if bytes.isPlain { return append(bytes) }
        var copied = 0
        for position in bytes.indices where bytes[position].needsEscape {
            append(UnsafeRawBufferPointer(rebasing: bytes[copied..<position]))
            append(escapeOf: bytes[position])
            copied = position + 1
        }
        append(UnsafeRawBufferPointer(rebasing: bytes[copied...]))
    }

    private mutating func append(escapeOf byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(#"\""#)
        case UInt8(ascii: "\\"): append(#"\\"#)
        case UInt8(ascii: "\n"): append(#"\n"#)
        case UInt8(ascii: "\r"): append(#"\r"#)
        case UInt8(ascii: "\t"): append(#"\t"#)
        default: BorrowedText.withText(Unicode.Scalar(byte).escape) { append($0.bytes) }
        }
    }
}
