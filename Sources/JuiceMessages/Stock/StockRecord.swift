import JuiceMaker

/// The whole stock of a store as a monitor sees it, which owns its texts and needs no menu.
public struct StockRecord: Sendable, Hashable, Encodable {
    /// The store.
    public let store: String
    /// How many changes the store has seen.
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

/// The state of a store, restored from its stock record.
public struct RestoredStore {
    /// The store, valid until the decoder decodes again.
    public let store: BorrowedText
    /// How many changes the store has seen.
    public let revision: Int
    /// Its levels by the present menu.
    public let levels: FruitStore
}
