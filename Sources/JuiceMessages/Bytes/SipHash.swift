/// SipHash-1-3 by Aumasson and Bernstein: a keyed hash, so that no one can search for collisions without the key.
///
/// The standard library's `Hasher` is the same function behind a buffer that takes pieces of any size. Here every piece ends
/// with its own word, which saves the buffer and two thirds of the instructions. The hash of a single piece is that of the
/// reference implementation.
///
/// Source: https://github.com/veorq/SipHash
public struct SipHash {
    /// The key of the hash: a secret, except for the key of the contract.
    public struct Key: Sendable {
        let low: UInt64
        let high: UInt64

        static let ofThisProcess = random()

        /// A key that cannot be guessed.
        public static func random() -> Key { Key(low: .random(in: .min ... .max), high: .random(in: .min ... .max)) }
    }

    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    private init(_ key: Key) {
        v0 = key.low ^ 0x736F_6D65_7073_6575
        v1 = key.high ^ 0x646F_7261_6E64_6F6D
        v2 = key.low ^ 0x6C79_6765_6E65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    /// The hash of some bytes in 64 bits.
    static func hash(_ bytes: UnsafeRawBufferPointer, key: Key = .ofThisProcess) -> UInt64 { SipHash(of: bytes, key: key).hash }

    /// The state after a first piece, from which its own hash and that of a pair are computed.
    package init(of bytes: UnsafeRawBufferPointer, key: Key = .ofThisProcess) {
        self.init(key)
        combine(bytes)
    }

    /// The hash of the first piece.
    var hash: UInt64 {
        var state = self
        state.v2 ^= 0xFF
        return state.finish()
    }

    /// The hash of the pair of the first piece and a second one, each of up to 255 bytes, in 128 bits. Pairs of different kinds
    /// have different hashes.
    package func wideHash(with second: UnsafeRawBufferPointer, kind: UInt8) -> (low: UInt64, high: UInt64) {
        var state = self
        state.v1 ^= UInt64(kind)
        state.combine(second)
        return state.finishWide()
    }

    /// The hash of a pair of byte strings, each of up to 255 bytes, in 128 bits. An empty second one does not count.
    public static func wideHash(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, key: Key
    ) -> (low: UInt64, high: UInt64) {
        var state = SipHash(key)
        state.v1 ^= 0xEE
        state.combine(first)
        if !second.isEmpty { state.combine(second) }
        return state.finishWide()
    }

    // Eight bytes at a time. The last word holds the remaining bytes and, in its highest byte, the count, which separates
    // pieces of up to 255 bytes.
    @inline(__always)
    private mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 8 <= bytes.count {
            combine(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        combine(UInt64(truncatingIfNeeded: bytes.count) << 56 | Self.rest(of: bytes, from: offset))
    }

    /// The last bytes, fewer than eight, as a word.
    @inline(__always)
    private static func rest(of bytes: UnsafeRawBufferPointer, from offset: Int) -> UInt64 {
        let count = bytes.count - offset
        guard count > 0 else { return 0 }
        if bytes.count >= 8 {
            let end = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
            return UInt64(littleEndian: end) >> UInt64(8 * (8 - count))
        }
        var rest: UInt64 = 0
        for position in (offset..<bytes.count).reversed() { rest = rest << 8 | UInt64(bytes[position]) }
        return rest
    }

    @inline(__always)
    private mutating func combine(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
    }

    @inline(__always)
    private mutating func finish() -> UInt64 {
        for _ in 0..<3 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always)
    private mutating func finishWide() -> (low: UInt64, high: UInt64) {
        v2 ^= 0xEE
        let low = finish()
        v1 ^= 0xDD
        return (low, finish())
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, by: 13) ^ v0
        v0 = Self.rotate(v0, by: 32)
        v2 &+= v3
        v3 = Self.rotate(v3, by: 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, by: 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, by: 17) ^ v2
        v2 = Self.rotate(v2, by: 32)
    }

    @inline(__always)
    private static func rotate(_ word: UInt64, by distance: UInt64) -> UInt64 { word << distance | word >> (64 - distance) }
}
