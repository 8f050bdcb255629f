/// The hash by which Kafka's Java clients assign keys to partitions: MurmurHash2 with Kafka's seed.
///
/// It decides which partition owns a store, so it must agree with other clients to the bit: `Utils.murmur2` and
/// `BuiltInPartitioner` in Kafka's Java client, `murmur2_random` in librdkafka.
public enum Murmur2 {
    /// The hash of some bytes, signed as in Java.
    public static func hash(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        let multiplier: UInt32 = 0x5BD1_E995
        // Lengths have 32 bits in Java; no key is longer.
        var hash: UInt32 = 0x9747_B28C ^ UInt32(truncatingIfNeeded: bytes.count)

        var offset = 0
        while offset + 4 <= bytes.count {
            var word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash = hash &* multiplier ^ word
            offset += 4
        }
        if offset < bytes.count {
            var position = bytes.count
            var rest: UInt32 = 0
            while position > offset {
                position -= 1
                rest = rest << 8 | UInt32(bytes[position])
            }
            hash = (hash ^ rest) &* multiplier
        }

        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return Int32(bitPattern: hash)
    }

    /// The partition for a key in a topic of `count` partitions, at least 1.
    public static func partition(of key: UnsafeRawBufferPointer, count: Int32) -> Int32 {
        // As Java does, this clears the sign bit; it does not take the absolute value.
        (hash(key) & Int32.max) % count
    }
}
