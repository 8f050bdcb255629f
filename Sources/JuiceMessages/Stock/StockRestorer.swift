import JuiceMaker

/// A store, restored from its stock record.
public struct RestoredStore {
    /// The store's id, valid until the restorer restores again.
    public let store: BorrowedText
    /// How often the store was changed.
    public let revision: Int
    /// Its levels under the present menu.
    public let levels: FruitStore
}

/// Restores stores from their stock records, under the present menu.
///
/// The menu may have changed since a record was written: a fruit that the record lacks gets its initial stock, and one that
/// the menu lacks is ignored. One restorer is for one thread.
///
/// Restoring allocates no memory if the store restored before has been released.
public final class StockRestorer {
    private let reader = JSONReader(capacity: 4096)
    private let menu: Menu
    private let fruits: ByteKeyTable
    private let template: StockTemplate
    private let initialLevels: [Int]
    // Reused for every record: there may be a million.
    private var levels: [Int]
    private var isGiven: [Bool]
    private var restored: FruitStore

    /// A restorer for stores of this menu's fruits.
    public init(menu: Menu) {
        self.menu = menu
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
        template = StockTemplate(menu: menu)
        initialLevels = menu.fruits.map(\.initialStock)
        levels = initialLevels
        isGiven = Array(repeating: false, count: menu.fruits.count)
        restored = FruitStore(menu: menu)
    }

    /// The store in the value of a record.
    ///
    /// - Parameters:
    ///   - value: the record's value.
    ///   - key: the record's key, which is the store in records of this service.
    public func restore(
        _ value: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer? = nil
    ) throws(MalformedMessage) -> RestoredStore {
        if let key, let revision = template.read(value, of: key, into: &levels) {
            try setLevels()
            return RestoredStore(store: BorrowedText(key), revision: revision, levels: restored)
        }
        let record = try reader.readObject(value)
        let store = try record.text("store")
        let revision = try record.integer("revision", from: 0 ... .max)
        try setLevels(try record.object("stock"))
        return RestoredStore(store: store, revision: revision, levels: restored)
    }

    private func setLevels(_ stock: JSONObject) throws(MalformedMessage) {
        for fruit in initialLevels.indices {
            levels[fruit] = initialLevels[fruit]
            isGiven[fruit] = false
        }
        for (id, value) in stock {
            guard let fruit = fruits.find(id.bytes) else { continue }
            guard !isGiven[fruit] else { throw fault(of: fruit, "given twice") }
            guard let level = value.amount else { throw fault(of: fruit, JSONValue.noAmount) }
            isGiven[fruit] = true
            levels[fruit] = level
        }
        try setLevels()
    }

    private func setLevels() throws(MalformedMessage) {
        do throws(FruitStore.LevelOutOfRange) {
            try restored.setLevels(levels)
        } catch {
            throw fault(of: error.fruit, JSONValue.noAmount)
        }
    }

    private func fault(of fruit: Int, _ problem: String) -> MalformedMessage {
        MalformedMessage("stock.\(menu.fruits[fruit].id)", problem)
    }
}
