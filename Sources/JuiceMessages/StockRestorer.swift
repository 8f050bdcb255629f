import JuiceMaker

/// Restores stores from their stock records, by the menu of today.
///
/// The menu may have changed since a record was written: a fruit that the record lacks is at its initial
/// stock, one that the menu lacks is ignored. One restorer is for one thread.
public final class StockRestorer {
    private let reader = JSONReader(capacity: 4096)
    private let menu: Menu
    private let fruits: ByteKeyTable
    // Kept from record to record: there may be a million.
    private var levels: [Int]
    private var isGiven: [Bool]

    /// A restorer for stores of this menu's fruits.
    public init(menu: Menu) {
        self.menu = menu
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
        levels = menu.fruits.map(\.initialStock)
        isGiven = Array(repeating: false, count: menu.fruits.count)
    }

    /// The store in the value of a record.
    public func restore(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> RestoredStore {
        let record = try reader.readObject(value)
        return RestoredStore(
            store: try record.text("store"),
            revision: try record.revision(),
            levels: try store(of: try record.object("stock"))
        )
    }

    private func store(of stock: JSONObject) throws(MalformedMessage) -> FruitStore {
        for fruit in menu.fruits.indices {
            levels[fruit] = menu.fruits[fruit].initialStock
            isGiven[fruit] = false
        }
        for (id, value) in stock {
            guard let fruit = fruits.find(id.bytes) else { continue }
            guard !isGiven[fruit] else { throw fault(of: fruit, "given twice") }
            guard let level = value.integer else { throw fault(of: fruit, "must be a whole number") }
            isGiven[fruit] = true
            levels[fruit] = level
        }
        do throws(FruitStore.LevelOutOfRange) {
            return try FruitStore(levels: levels)
        } catch {
            throw fault(of: error.fruit, "must be from 0 to \(FruitStore.maximumLevel)")
        }
    }

    private func fault(of fruit: Int, _ problem: String) -> MalformedMessage {
        MalformedMessage("stock.\(menu.fruits[fruit].id)", problem)
    }
}
