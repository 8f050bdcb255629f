/// Non-negative numbers in at most 15 bytes, in LEB128: seven bits per byte, least significant first; the eighth says that
/// more follow. After the last number a reader reads zeros, so trailing zeros take no room.
struct CompactNumbers {
    private(set) var bits: UInt128 = 0
    /// Whether all numbers appended so far fit.
    private(set) var fit = true
    private var position = 0

    /// The most bytes.
    static let capacity = 15
    private let capacity: Int

    init(capacity: Int = Self.capacity) {
        self.capacity = capacity * 8
    }

    mutating func append(_ number: Int) {
        guard number >= 0 else { return fit = false }
        var rest = UInt(number)
        repeat {
            let byte = UInt8(truncatingIfNeeded: rest & 0x7F) | (rest > 0x7F ? 0x80 : 0)
            if byte != 0 && position >= capacity { return fit = false }
            bits |= UInt128(byte) << position
            position += 8
            rest >>= 7
        } while rest > 0
    }

    /// Reads the numbers back, and after them zeros.
    struct Reader {
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
