/// Which partition a store lives in: Kafka's default partitioner for keys, as Java clients have it.
enum Ownership {
    static func partition(of store: UnsafeBufferPointer<UInt8>, count: Int) -> Int {
        Int(murmur2(store) & 0x7fff_ffff) % count
    }

    /// Austin Appleby's MurmurHash2 with the seed that Kafka chose.
    static func murmur2(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)
        var position = 0
        while position + 4 <= bytes.count {
            var word =
                UInt32(bytes[position]) | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2]) << 16
                | UInt32(bytes[position + 3]) << 24
            word = word &* multiplier
            word ^= word >> 24
            hash = (hash &* multiplier) ^ (word &* multiplier)
            position += 4
        }
        if position < bytes.count {
            for (shift, byte) in bytes[position...].enumerated() { hash ^= UInt32(byte) << (8 * shift) }
            hash = hash &* multiplier
        }
        hash ^= hash >> 13
        hash = hash &* multiplier
        return hash ^ (hash >> 15)
    }
}
