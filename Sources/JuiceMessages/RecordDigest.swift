/// Identifies an input record in 128 bits: SipHash-1-3 with the key of the contract, so that every program computes the same
/// digest. A record has the same digest in each copy of its topic.
public struct RecordDigest: Sendable, Hashable {
    private let low, high: UInt64

    /// The digest of a command that was answered: of its kind, store and id. It allocates nothing.
    public init(of command: AnswerHead) {
        let (kind, store) = (command.command.letter, command.store.bytes)
        self.init(UInt16(kind) | UInt16(truncatingIfNeeded: store.count) << 8, store, command.id.bytes)
    }

    /// The digest of a record that got no answer: of its key, after the key's length, and its value.
    public init(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
        self.init(key.map { UInt64($0.count) } ?? .max, key, value)
    }

    private init<Head: FixedWidthInteger & BitwiseCopyable>(
        _ head: Head, _ first: UnsafeRawBufferPointer?, _ second: UnsafeRawBufferPointer?
    ) {
        let (firstCount, size) = (first?.count ?? 0, MemoryLayout<Head>.size)
        (low, high) = withUnsafeTemporaryAllocation(byteCount: size + firstCount + (second?.count ?? 0), alignment: 8) { bytes in
            bytes.storeBytes(of: head.littleEndian, as: Head.self)
            if let first { UnsafeMutableRawBufferPointer(rebasing: bytes[size...]).copyMemory(from: first) }
            if let second { UnsafeMutableRawBufferPointer(rebasing: bytes[(size + firstCount)...]).copyMemory(from: second) }
            return SipHash.wideHash(UnsafeRawBufferPointer(bytes), UnsafeRawBufferPointer(start: nil, count: 0), key: .contract)
        }
    }

    init?(hex: String) {
        guard hex.utf8.count == 32, let low = UInt64(hex.prefix(16), radix: 16), let high = UInt64(hex.suffix(16), radix: 16) else {
            return nil
        }
        (self.low, self.high) = (low.byteSwapped, high.byteSwapped)
    }

    /// The 16 bytes of the hash, in order, as 32 lower-case hexadecimal digits.
    var hex: String { low.byteSwapped.hex + high.byteSwapped.hex }
}

/// The last record of an input that was handled.
public struct HandledRecord: Sendable, Hashable {
    /// Its offset.
    public let offset: Int64
    /// Its digest, to recognize it.
    public let digest: RecordDigest

    /// A record that was handled.
    public init(offset: Int64, digest: RecordDigest) { (self.offset, self.digest) = (offset, digest) }
}
