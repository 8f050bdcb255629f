import JuiceMessages

/// Lists of numbers, added at the end and removed at either end, as answers are remembered and forgotten.
///
/// A list is copied whole, since no list is in two chunks. The queue grows without copying its chunks.
struct NumberQueue {
    private static let chunkSize = 1 << 14
    /// The most bytes of a list's length.
    private static let longestLength = 10

    private var chunks: [[UInt8]] = []
    /// The number of the first chunk, counted over all that there ever were.
    private var first = 0
    /// How many bytes at the start of the first chunk are of removed lists.
    private var removed = 0
    /// The bytes of all lists.
    private(set) var byteCount = 0

    /// Appends a list, and returns its place.
    mutating func append(_ list: NumberList) -> Int {
        let room = list.bytes.count + Self.longestLength
        if chunks.last.map({ $0.count + room > Self.chunkSize }) ?? true {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(max(room, Self.chunkSize))
        }
        let last = chunks.count - 1
        let start = chunks[last].count
        chunks[last].append(leb128: list.bytes.count)
        chunks[last].append(contentsOf: list.bytes)
        byteCount += chunks[last].count - start
        return (first + last) << 32 | start
    }

    /// The list at a place.
    subscript(place: Int) -> NumberList {
        let (chunk, start) = position(of: place)
        var position = start
        let count = chunks[chunk].readLEB128(at: &position)
        return NumberList(bytes: Array(chunks[chunk][position..<position + count]))
    }

    /// Removes the list at a place: the first one or the last.
    mutating func remove(at place: Int) {
        let (chunk, start) = position(of: place)
        var end = start
        let count = chunks[chunk].readLEB128(at: &end)
        end += count
        byteCount -= end - start
        if chunk > 0 || start > removed {
            chunks[chunk].removeSubrange(start...)
            if chunks[chunk].isEmpty { chunks.removeLast() }
            return
        }
        removed = end
        guard removed == chunks[0].count else { return }
        removed = 0
        if chunks.count == 1 { return chunks[0].removeAll(keepingCapacity: true) }
        chunks.removeFirst()
        first += 1
    }

    private func position(of place: Int) -> (chunk: Int, start: Int) {
        ((place >> 32) - first, place & 0xFFFF_FFFF)
    }
}

/// Numbers from 0 up.
struct NumberList: NumberSink, NumberSource {
    private(set) var bytes: [UInt8]
    /// How many of the bytes were read.
    private var position = 0

    init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    init(_ numbers: [Int]) {
        self.init()
        for number in numbers { append(number) }
    }

    mutating func append(_ number: Int) { bytes.append(leb128: number) }

    /// Makes room for other numbers.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func next() -> Int { bytes.readLEB128(at: &position) }

    /// All numbers.
    var all: [Int] {
        var (list, numbers) = (self, [Int]())
        while list.position < bytes.count { numbers.append(list.next()) }
        return numbers
    }
}

// Seven bits in a byte, least significant first; the eighth bit says that more follow.
extension [UInt8] {
    fileprivate mutating func append(leb128 number: Int) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    fileprivate func readLEB128(at position: inout Int) -> Int {
        var (number, shift) = (0, 0)
        while position < count {
            let byte = self[position]
            position += 1
            number |= Int(byte & 0x7F) << shift
            shift += 7
            if byte <= 0x7F { break }
        }
        return number
    }
}
