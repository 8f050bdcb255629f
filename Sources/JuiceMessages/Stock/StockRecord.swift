/// The whole stock of a store as a monitor sees it. It owns its texts and needs no menu.
public struct StockRecord: Sendable, Hashable, Encodable {
    /// The store.
    public let store: String
    /// How often the store was changed.
    public let revision: Int
    /// Its fruits in the record's order.
    public let stock: [FruitAmount]

    /// A record of a store's stock.
    public init(store: String, revision: Int, stock: [FruitAmount]) {
        self.store = store
        self.revision = revision
        self.stock = stock
    }
}

/// Reads records of the stock topic. Fields it does not know are ignored.
///
/// One decoder is for one thread; the records are values of their own.
public final class StockDecoder {
    private let reader = JSONReader(capacity: 4096)

    /// A decoder of stock records.
    public init() {}

    /// The record in a value. Its fruits need not be on a menu.
    public func decode(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> StockRecord {
        let record = try reader.readObject(value)
        return StockRecord(
            store: String(try record.text("store")), revision: try record.integer("revision", from: 0 ... .max),
            stock: try record.amounts("stock"))
    }
}
