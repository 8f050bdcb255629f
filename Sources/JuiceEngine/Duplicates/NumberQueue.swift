import JuiceMessages

/// Lists of numbers, added at the end and removed at either end, as answers are remembered and forgotten.
///
/// Its chunks take no more memory than the lists, and it grows without copying them.
struct NumberQueue {
    private static let chunkSize = 1 << 14

    private var chunks: [[UInt8]] = []
    /// The places of the first byte and of the next one, counted over all lists that there ever were.
    private var start = 0
    private var end = 0

    /// The bytes of all lists.
    var byteCount: Int { end - start }

    /// Appends a list, and returns its place.
    mutating func append(_ list: NumberList) -> Int {
        let place = end
        for byte in NumberList([list.bytes.count]).bytes { append(byte) }
        for byte in list.bytes { append(byte) }
        return place
    }

    /// The list at a place.
    subscript(place: Int) -> NumberList { NumberList(bytes: bytes(in: range(ofListAt: place))) }

    /// Removes the list at a place: the first one or the last.
    mutating func remove(at place: Int) {
        if place == start {
            let before = start / Self.chunkSize
            start = range(ofListAt: place).upperBound
            chunks.removeFirst(min(chunks.count, start / Self.chunkSize - before))
        } else {
            end = place
            let used = (end - 1) / Self.chunkSize - start / Self.chunkSize + 1
            chunks.removeLast(chunks.count - used)
        }
    }

    /// The bytes of a list, after those that say how many they are.
    private func range(ofListAt place: Int) -> Range<Int> {
        let longestCount = 10
        var list = NumberList(bytes: bytes(in: place..<min(end, place + longestCount)))
        let count = list.next()
        let first = place + list.position
        return first..<first + count
    }

    private func bytes(in range: Range<Int>) -> [UInt8] {
        range.map { chunks[$0 / Self.chunkSize - start / Self.chunkSize][$0 % Self.chunkSize] }
    }

    private mutating func append(_ byte: UInt8) {
        let chunk = end / Self.chunkSize - start / Self.chunkSize
        if chunk == chunks.count { chunks.append(Array(repeating: 0, count: Self.chunkSize)) }
        chunks[chunk][end % Self.chunkSize] = byte
        end += 1
    }
}

/// Numbers from 0 up in LEB128: seven bits in a byte, least significant first; the eighth bit says that more follow.
struct NumberList: NumberSink, NumberSource {
    private(set) var bytes: [UInt8]
    /// How many of the bytes were read.
    private(set) var position = 0

    init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    init(_ numbers: [Int]) {
        self.init()
        for number in numbers { append(number) }
    }

    mutating func append(_ number: Int) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func next() -> Int {
        var (number, shift) = (0, 0)
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            number |= Int(byte & 0x7F) << shift
            shift += 7
            if byte <= 0x7F { break }
        }
        return number
    }

    /// All numbers.
    var all: [Int] {
        var (list, numbers) = (self, [Int]())
        while list.position < bytes.count { numbers.append(list.next()) }
        return numbers
    }
}
