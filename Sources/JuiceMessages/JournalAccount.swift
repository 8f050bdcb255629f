import JuiceDomain

/// Record counts that a position note vouches for: what an owner had counted before it wrote the note.
///
/// A restore counts again. Whatever a topic has lost, at its beginning, in its middle or in a single record, shows as a difference.
public struct JournalAccount: Sendable, Hashable {
    /// The offset of an earlier position note, the last one that the owner knew; nil if the account begins here.
    public var before: Int64?
    /// How many input records the journal has handled.
    public var records: Int64
    /// The changes of the partition's stores, added up.
    public var changes: StockChanges
    /// The offset of the oldest first answer that a repeat may still ask for; nil if there is none.
    public var oldest: Int64?
    /// The digest of the owner's menu: see ``digest(of:)``.
    public var menu: UInt64

    /// An account.
    public init(before: Int64?, records: Int64, changes: StockChanges, oldest: Int64?, menu: UInt64) {
        (self.before, self.records, self.changes) = (before, records, changes)
        (self.oldest, self.menu) = (oldest, menu)
    }

    /// The digest of a menu's fruits and their initial stocks, written like the stock of a store that never changed.
    public static func digest(of menu: Menu) -> UInt64 {
        let fruits: [JSONText] = menu.fruits.map { #"\#($0.id):\#($0.initialStock)"# }
        let stock: JSONText = #"{\#(fruits)}"#
        return stock.bytes.withUnsafeBytes { SipHash.hash($0, key: .contract) }
    }
}

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
