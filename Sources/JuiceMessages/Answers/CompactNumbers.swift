/// Non-negative numbers in at most 15 bytes, in LEB128: seven bits per byte, least significant first; the eighth says that
/// more follow. After the last number a reader reads zeros, so trailing zeros take no room.
struct CompactNumbers: NumberSink {
    private var bytes: UInt128 = 0
    /// Whether all numbers appended so far fit.
    private(set) var fit = true
    private var position = 0

    /// The most bytes.
    static let capacity = 15
    private let capacity: Int

    init(capacity: Int = Self.capacity) {
        self.capacity = capacity
    }

    /// The bytes, the first one lowest.
    var bits: UInt128 { UInt128(littleEndian: bytes) }

    @inline(__always)
    mutating func append(_ number: Int) {
        guard number >= 0 else { return fit = false }
        var rest = UInt(number)
        while rest > 0x7F {
            append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        // A zero takes room only if a number follows.
        if rest > 0 { append(byte: UInt8(rest)) } else { position += 1 }
    }

    @inline(__always)
    private mutating func append(byte: UInt8) {
        guard position < capacity else { return fit = false }
        withUnsafeMutableBytes(of: &bytes) { $0[position] = byte }
        position += 1
    }

    /// Reads the numbers back, and after them zeros.
    struct Reader: NumberSource {
        private var rest: UInt128

        init(rest: UInt128) {
            self.rest = rest
        }

        mutating func next() -> Int {
            var number: UInt = 0
            var position = 0
            var byte: UInt8
            repeat {
                byte = UInt8(truncatingIfNeeded: rest)
                number |= UInt(byte & 0x7F) << position
                position += 7
                rest >>= 8
            } while byte > 0x7F
            return Int(bitPattern: number)
        }
    }
}
