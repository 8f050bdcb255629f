import CProcessor

/// Gives every distinct key a dense index: the first key gets 0, the next new one 1, and so on.
///
/// Made for a million ids. All keys are in one array, one after the other, and an open-addressing table of 8-byte slots finds them:
/// a key costs its bytes and some 20 to 40 more, not an allocation. A lookup allocates nothing. Keys are bytes: ids that differ in
/// a byte are different keys, even if Unicode considers them equal.
public struct ByteKeyTable: Sendable {
    @usableFromInline internal private(set) var keyBytes: [UInt8] = []
    // The end of each key in `keyBytes`, where the next one begins.
    @usableFromInline internal private(set) var keyEnds: [UInt32] = []
    // A power of two of slots.
    private var slots = Array(repeating: Slot.free, count: 8)

    /// A table without keys.
    public init() {}

    /// A table of these keys, which must be distinct. The index of a key is its position.
    public init(keys: some Sequence<String>) {
        for key in keys {
            let (_, inserted) = BorrowedText.withText(key) { insert($0.bytes) }
            precondition(inserted, "ids on a menu are all different")
        }
    }

    /// Reserves room for this many keys of some 16 bytes each, but no slots: unlike slots, unused room costs nothing.
    public mutating func reserveCapacity(_ capacity: Int) {
        keyEnds.reserveCapacity(capacity)
        keyBytes.reserveCapacity(capacity * 16)
    }

    /// How many keys there are; their indices are `0..<count`.
    public var count: Int { keyEnds.count }

    /// A key with its hash, for more than one lookup.
    public struct Key {
        /// The bytes of the key.
        public let bytes: UnsafeRawBufferPointer
        /// Keyed per process, so that a sender cannot choose ids that collide.
        public let hash: UInt32

        /// Makes a key by hashing its bytes.
        public init(_ bytes: UnsafeRawBufferPointer) { self.init(bytes, SipHash(of: bytes)) }

        /// A key whose bytes were hashed before.
        package init(_ bytes: UnsafeRawBufferPointer, _ hash: SipHash) {
            self.init(bytes, hash: UInt32(truncatingIfNeeded: hash.hash))
        }

        /// A key whose hash is known.
        public init(_ bytes: UnsafeRawBufferPointer, hash: UInt32) { (self.bytes, self.hash) = (bytes, hash) }
    }

    /// Prefetches the slot of a key that is about to be looked up.
    public func prefetch(_ key: Key) {
        slots.withUnsafeBufferPointer { slots in
            if let start = slots.baseAddress { CProcessor.prefetch(start + Int(key.hash) & (slots.count - 1)) }
        }
    }

    /// The index of a key, or `nil` if it was never inserted.
    @inline(__always)
    public func find(_ key: UnsafeRawBufferPointer) -> Int? {
        count <= Self.fewKeys ? search(key) : find(Key(key))
    }

    // Comparing this few keys, such as the juices of most menus, is faster than hashing one. The search is inlined, because a call
    // would cost half as much as the search itself.
    private static let fewKeys = 8

    @inline(__always)
    private func search(_ key: UnsafeRawBufferPointer) -> Int? {
        let length = key.count
        return keyBytes.withUnsafeBytes { bytes in
            var end = 0
            for index in keyEnds.indices {
                let start = end
                end = Int(keyEnds[index])
                // Rules out most keys without looking at their bytes.
                guard end - start == length else { continue }
                if UnsafeRawBufferPointer(rebasing: bytes[start..<end]).hasSameBytes(as: key) { return index }
            }
            return nil
        }
    }

    /// The index of a key; nil if the table has none.
    public func find(_ key: Key) -> Int? { slots[position(of: key.bytes, hash: key.hash)].index }

    /// Adds a key unless it is there.
    public mutating func insert(_ key: UnsafeRawBufferPointer) -> (index: Int, inserted: Bool) { insert(Key(key)) }

    /// The index of a key, which is inserted if it is new.
    public mutating func insert(_ key: Key) -> (index: Int, inserted: Bool) {
        let (key, hash) = (key.bytes, key.hash)
        var position = position(of: key, hash: hash)
        if let index = slots[position].index { return (index, false) }

        if (count + 1) * 4 > slots.count * 3 {
            grow()
            position = Self.freePosition(for: hash, in: slots)
        }
        let index = count
        let end = keyBytes.count + key.count
        precondition(index < Int(UInt32.max) && end <= Int(UInt32.max), "a table holds up to 4 GiB of keys")
        keyBytes.append(contentsOf: key)
        keyEnds.append(UInt32(end))
        slots[position] = Slot(index: index, hash: hash)
        return (index, true)
    }

    /// Calls `body` with the key of an index. The bytes are valid during the call.
    @inlinable
    public func withKey<Result, Failure: Error>(
        at index: Int,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let range = (index == 0 ? 0 : Int(keyEnds[index - 1]))..<Int(keyEnds[index])
        // The standard library's method loses the type of the error that its closure throws.
        let result = keyBytes.withUnsafeBytes { bytes in
            Swift.Result { () throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: bytes[range])) }
        }
        return try result.get()
    }
}

extension ByteKeyTable {
    // A key's index and 32 bits of its hash. The hash rules out almost every other key without a cache miss in the key bytes,
    // and lets the table grow without hashing the keys again.
    private struct Slot {
        // The hash in the upper half, the index plus one in the lower; zero if free.
        private var bits: UInt64 = 0

        static let free = Slot()

        private init() {}

        init(index: Int, hash: UInt32) { bits = UInt64(hash) << 32 | UInt64(index + 1) }

        var isFree: Bool { bits == 0 }
        var hash: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
        var index: Int? { isFree ? nil : Int(UInt32(truncatingIfNeeded: bits)) - 1 }
    }

    // The slot of the key, or the free one where it belongs. The table is never full, so one exists.
    private func position(of key: UnsafeRawBufferPointer, hash: UInt32) -> Int {
        let mask = slots.count - 1
        var position = Int(hash) & mask
        while let index = slots[position].index {
            if slots[position].hash == hash && withKey(at: index, { $0.hasSameBytes(as: key) }) { break }
            position = (position + 1) & mask
        }
        return position
    }

    private static func freePosition(for hash: UInt32, in slots: [Slot]) -> Int {
        let mask = slots.count - 1
        var position = Int(hash) & mask
        while !slots[position].isFree { position = (position + 1) & mask }
        return position
    }

    private mutating func grow() {
        var larger = Array(repeating: Slot.free, count: slots.count * 2)
        for slot in slots where !slot.isFree { larger[Self.freePosition(for: slot.hash, in: larger)] = slot }
        slots = larger
    }
}
