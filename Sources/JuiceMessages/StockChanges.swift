import JuiceDomain

/// The revisions of a partition's stores, added up. A revision grows by one with each change of its store, so a store that is
/// missing, older or newer than it should be shows in one of the sums.
public struct StockChanges: Sendable, Hashable {
    /// The sum of the revisions.
    public private(set) var count: Int64
    /// The sum of each store's weight times its revision, modulo 2^64.
    public private(set) var sum: UInt64

    /// Sums as a note has them; zero by default.
    public init(count: Int64 = 0, sum: UInt64 = 0) { (self.count, self.sum) = (count, sum) }

    /// Adds some changes of a store, by its ``weight(of:)``.
    @inline(__always)
    public mutating func add(_ changes: Int = 1, ofWeight weight: UInt64) {
        count &+= Int64(changes)
        sum &+= weight &* UInt64(bitPattern: Int64(changes))
    }

    /// The weight of a store: a hash of its name, made odd, so that no number of changes below 2^64 adds up to zero.
    public static func weight(of store: UnsafeRawBufferPointer) -> UInt64 { SipHash.hash(store, key: .contract) | 1 }
}

extension SipHash.Key {
    /// The key of all hashes in the contract, which other programs compute, too: the bytes of `juice journal v1`.
    static let contract = SipHash.Key(low: 0x6F6A_2065_6369_756A, high: 0x3176_206C_616E_7275)
}
