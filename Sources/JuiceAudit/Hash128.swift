/// Stands for a byte string of any length. Two different ones never have the same in practice.
struct Hash128: Hashable {
    let high: UInt64
    let low: UInt64
}

/// Makes a hash of a sequence of numbers and byte strings.
struct Hasher128 {
    private var high: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var low: UInt64 = 0xD1B5_4A32_D192_ED03

    mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

    /// Adds a byte string. Its length is added too, so that two strings differ from one.
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        add(UInt64(raw.count))
        var position = 0
        while position + 8 <= raw.count {
            add(raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        guard position < raw.count else { return }
        var word: UInt64 = 0
        for byte in raw[position...] { word = word << 8 | UInt64(byte) }
        add(word)
    }

    /// Adds a byte string, or that there is none.
    mutating func add(_ bytes: (some Collection<UInt8>)?) {
        add(bytes == nil ? 0 : 1)
        bytes?.withContiguousStorageIfAvailable { add($0) }
    }

    private mutating func add(_ word: UInt64) {
        high = Self.mix(high ^ word, 0xA076_1D64_78BD_642F)
        low = Self.mix(low &+ word, 0xE703_7ED1_A0B4_28DB) ^ high
    }

    private static func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let product = first.multipliedFullWidth(by: second)
        return product.high ^ product.low ^ first
    }

    var hash: Hash128 { Hash128(high: high, low: low) }
}
