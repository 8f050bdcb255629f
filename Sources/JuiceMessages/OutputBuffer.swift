/// Bytes under construction, in memory that is kept for the next message.
///
/// Everything is appended; ``removeAll()`` starts over without giving the memory back.
public struct OutputBuffer: Sendable {
    // Longer than what it holds: with the bytes already there, appending is a copy and an addition.
    private var storage: [UInt8]

    /// How many bytes there are.
    public private(set) var count = 0

    /// An empty buffer with room for `capacity` bytes. It grows when there are more.
    public init(capacity: Int = 1024) {
        storage = Array(repeating: 0, count: max(capacity, 64))
    }

    /// Empties the buffer and keeps its memory.
    public mutating func removeAll() {
        count = 0
    }

    /// Calls `body` with the bytes, valid during the call.
    public func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try storage.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] {
        Array(storage[..<count])
    }

    /// A copy of the bytes as text.
    public var text: String {
        String(decoding: storage[..<count], as: UTF8.self)
    }
}

extension OutputBuffer {
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        storage.withUnsafeMutableBytes { storage in
            let free = UnsafeMutableRawBufferPointer(rebasing: storage[count...])
            free.copyMemory(from: UnsafeRawBufferPointer(start: source, count: bytes.count))
        }
        count += bytes.count
    }

    mutating func append(_ literal: StaticString) {
        append(BorrowedText(literal).bytes)
    }

    mutating func append(_ text: String) {
        BorrowedText.withText(text) { append($0.bytes) }
    }

    mutating func append(byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// Appends an integer in decimal digits.
    mutating func append(decimal value: Int) {
        // The most digits of 64 bits, and a sign.
        let longest = 20
        reserve(longest)
        if value < 0 { append(byte: UInt8(ascii: "-")) }
        var rest = value.magnitude
        let digits = Self.digitCount(rest)
        for position in stride(from: count + digits - 1, through: count, by: -1) {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            storage[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        }
        count += digits
    }

    private static func digitCount(_ value: UInt) -> Int {
        var digits = 1
        var rest = value / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        return digits
    }

    private mutating func reserve(_ additional: Int) {
        if storage.count - count >= additional { return }
        let wanted = max(storage.count * 2, count + additional)
        storage.append(contentsOf: repeatElement(0, count: wanted - storage.count))
    }
}
