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
