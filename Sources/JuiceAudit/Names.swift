/// Numbers for the stores that one partition's records name, and digests for its commands.
struct Names {
    private(set) var stores: [[UInt8]] = []
    /// The partition that owns each store.
    private(set) var owners: [Int] = []
    private var numbers: [UInt64: Int] = [:]
    private let partitionCount: Int

    init(partitionCount: Int) { self.partitionCount = partitionCount }

    /// The store that a key names; nil if it is no valid name.
    mutating func store(key: [UInt8]?) -> Int? {
        (key.flatMap { $0.isEmpty ? nil : $0 } ?? Contract.mainStore).withUnsafeBufferPointer { store($0) }
    }

    /// The store of this name; nil if it is no valid one.
    mutating func store(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        var digest = Digest()
        digest.add(name)
        if let store = numbers[digest.value] { return store }
        guard (1...Contract.longestName).contains(name.count), isUTF8(name) else { return nil }
        numbers[digest.value] = stores.count
        stores.append(Array(name))
        owners.append(Int(Self.murmur2(name) & 0x7fff_ffff) % partitionCount)
        return stores.count - 1
    }

    /// Stands for a command. Its id identifies it only together with store and kind: an order and its cancel are two.
    func identity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var digest = Digest()
        digest.add(UInt64(store << 2 | kind.rawValue))
        digest.add(id)
        return digest.value
    }

    /// Austin Appleby's MurmurHash2 with the seed that Kafka chose for its default partitioner, as Java clients have it.
    static func murmur2(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)
        let tail = bytes.count & ~3
        for position in stride(from: 0, to: tail, by: 4) {
            var word = UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: position, as: UInt32.self).littleEndian
            word = word &* multiplier
            word ^= word >> 24
            hash = (hash &* multiplier) ^ (word &* multiplier)
        }
        if tail < bytes.count {
            for (shift, byte) in bytes[tail...].enumerated() { hash ^= UInt32(byte) << (8 * shift) }
            hash = hash &* multiplier
        }
        hash ^= hash >> 13
        hash = hash &* multiplier
        return hash ^ (hash >> 15)
    }
}
