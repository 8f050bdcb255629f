/// Numbers byte strings in the order in which they are first seen.
///
/// A dictionary with arrays for keys would allocate one for every look: most of what an audit costs would be that.
struct ByteTable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var hashes: [UInt64] = []
    private var slots: [Int32] = Array(repeating: -1, count: 64)

    var count: Int { ends.count }

    /// The number of this string, or `nil` when it was never inserted.
    func find(_ key: UnsafeBufferPointer<UInt8>) -> Int? {
        let number = slots[slot(of: key, hash: Self.hash(key))]
        return number < 0 ? nil : Int(number)
    }

    /// The number of this string, which is new if it equals the former ``count``.
    mutating func insert(_ key: UnsafeBufferPointer<UInt8>) -> Int {
        let hash = Self.hash(key)
        let slot = slot(of: key, hash: hash)
        if slots[slot] >= 0 { return Int(slots[slot]) }
        let number = ends.count
        slots[slot] = Int32(number)
        bytes.append(contentsOf: key)
        ends.append(bytes.count)
        hashes.append(hash)
        if ends.count * 2 > slots.count { grow() }
        return number
    }

    subscript(number: Int) -> ArraySlice<UInt8> { bytes[range(number)] }

    private func range(_ number: Int) -> Range<Int> {
        (number == 0 ? 0 : ends[number - 1])..<ends[number]
    }

    private func slot(of key: UnsafeBufferPointer<UInt8>, hash: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] >= 0, !isEqual(Int(slots[slot]), key, hash) { slot = (slot + 1) & mask }
        return slot
    }

    private func isEqual(_ number: Int, _ key: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> Bool {
        guard hashes[number] == hash else { return false }
        let range = range(number)
        guard range.count == key.count else { return false }
        return bytes.withUnsafeBufferPointer { isSame(UnsafeBufferPointer(rebasing: $0[range]), key) }
    }

    private mutating func grow() {
        slots = Array(repeating: -1, count: slots.count * 2)
        let mask = slots.count - 1
        for (number, hash) in hashes.enumerated() {
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] >= 0 { slot = (slot + 1) & mask }
            slots[slot] = Int32(number)
        }
    }

    private static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let raw = UnsafeRawBufferPointer(key)
        var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(key.count)
        var position = 0
        while position < raw.count {
            var word: UInt64 = 0
            if position + 8 <= raw.count {
                word = raw.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            } else {
                for byte in raw[position...] { word = word << 8 | UInt64(byte) }
            }
            hash = (hash ^ word) &* 0xBF58_476D_1CE4_E5B9
            hash ^= hash >> 32
            position += 8
        }
        return hash
    }
}

/// Whether two byte strings are the same.
func isSame(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool {
    guard first.count == second.count else { return false }
    let (first, second) = (UnsafeRawBufferPointer(first), UnsafeRawBufferPointer(second))
    var position = 0
    while position + 8 <= first.count {
        let word = first.loadUnaligned(fromByteOffset: position, as: UInt64.self)
        guard word == second.loadUnaligned(fromByteOffset: position, as: UInt64.self) else { return false }
        position += 8
    }
    while position < first.count {
        guard first[position] == second[position] else { return false }
        position += 1
    }
    return true
}

/// Whether a byte string is this literal.
func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ literal: StaticString) -> Bool {
    isSame(bytes, UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
}
