import JuiceDomain

/// The whole stock of a store as a monitor sees it. It owns its texts and needs no menu.
package struct StockRecord: Sendable, Hashable {
    package let store: String
    /// How often the store was changed.
    package let revision: Int
    /// In the record's order.
    package let stock: [FruitAmount]
}

/// Reads records of the stock topic. Fields it does not know are ignored.
///
/// One decoder is for one thread; the records are values of their own.
package final class StockDecoder {
    private let reader = JSONReader(capacity: 4096)

    package init() {}

    /// The record in a value. Its fruits need not be on a menu.
    package func decode(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> StockRecord {
        let record = try reader.readObject(value)
        return StockRecord(
            store: try record.text("store"), revision: try record.integer("revision", from: 0 ... .max),
            stock: try record.amounts("stock"))
    }
}

/// A store, restored from its stock record. Its id is valid until the restorer restores again.
public typealias RestoredStore = (store: BorrowedText, revision: Int, levels: FruitStore)

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
    // Reused for every record: there may be a million. One restorer is for one thread, so its variables need no exclusivity check.
    @exclusivity(unchecked) private var levels: [Int]
    private var isGiven: [Bool]
    @exclusivity(unchecked) private var restored: FruitStore

    /// A restorer for stores of this menu's fruits.
    public init(menu: Menu) {
        self.menu = menu
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
        template = StockTemplate(menu: menu)
        levels = Array(repeating: 0, count: menu.fruits.count)
        isGiven = Array(repeating: false, count: menu.fruits.count)
        restored = FruitStore(menu: menu)
    }

    /// The store in the value of a record. The record's key is the store, if this service wrote it.
    public func restore(
        _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer? = nil
    ) throws(MalformedMessage) -> RestoredStore {
        if let key, let revision = template.read(value, of: key, into: &levels) {
            try setLevels()
            return (BorrowedText(key), revision, restored)
        }
        let record = try reader.readObject(value)
        let store = try record.member("store").text("store")
        let revision = try record.integer("revision", from: 0 ... .max)
        try setLevels(try record.object("stock"))
        return (store, revision, restored)
    }

    private func setLevels(_ stock: JSONObject) throws(MalformedMessage) {
        for fruit in levels.indices {
            levels[fruit] = menu.fruits[fruit].initialStock
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

/// Writes stock records, and reads back those that were written this way.
///
/// A record is a few fixed pieces with texts and numbers in between. On restore almost every one of a million records was
/// written under the present menu, and comparing its pieces is twenty times faster than parsing JSON. Any other record is
/// left to a JSON reader.
struct StockTemplate: Sendable {
    private var fragments = Fragments()
    private let beforeStore: Fragment
    private let beforeRevision: Fragment
    private let beforeLevels: [Fragment]
    private let end: Fragment

    init(menu: Menu) {
        beforeStore = fragments.add(#"{"store":""#)
        beforeRevision = fragments.add(#"","revision":"#)
        var levels = [fragments.add(#","stock":{\#(menu.fruits[0].id):"#)]
        for fruit in menu.fruits.dropFirst() { levels.append(fragments.add(#",\#(fruit.id):"#)) }
        beforeLevels = levels
        end = fragments.add("}}")
    }

    func write(store: BorrowedText, revision: Int, levels: FruitStore, into buffer: inout OutputBuffer) {
        buffer.append(beforeStore, of: fragments)
        buffer.append(escaped: store)
        buffer.append(beforeRevision, of: fragments)
        buffer.append(decimal: revision)
        for fruit in beforeLevels.indices {
            buffer.append(beforeLevels[fruit], of: fragments)
            buffer.append(decimal: levels[fruit])
        }
        buffer.append(end, of: fragments)
    }

    /// Reads the levels in menu order. Returns the revision; nil if the record of this key was not written by ``write``.
    func read(_ value: UnsafeRawBufferPointer, of store: UnsafeRawBufferPointer, into levels: inout [Int]) -> Int? {
        var text = Cursor(rest: value)
        // A store with escapes in its name is left to the JSON reader: its key has none.
        guard skip(beforeStore, in: &text), text.skip(store), skip(beforeRevision, in: &text), let revision = text.number() else {
            return nil
        }
        for fruit in beforeLevels.indices {
            guard skip(beforeLevels[fruit], in: &text), let level = text.number() else { return nil }
            levels[fruit] = level
        }
        return skip(end, in: &text) && text.rest.isEmpty ? revision : nil
    }

    @inline(__always)
    private func skip(_ fragment: Fragment, in text: inout Cursor) -> Bool {
        fragments.withBytes(of: fragment) { text.skip($0) }
    }
}

/// The unread rest of a record. Not a `Slice`, whose methods are not specialized here and take twice as long.
private struct Cursor {
    var rest: UnsafeRawBufferPointer

    @inline(__always)
    mutating func skip(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard rest.count >= piece.count, UnsafeRawBufferPointer(rebasing: rest[..<piece.count]).hasSameBytes(as: piece) else {
            return false
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
        return true
    }

    /// A whole number as the encoder writes it, of no more than 18 digits.
    @inline(__always)
    mutating func number() -> Int? {
        var (number, digits) = (0, 0)
        while digits < rest.count, digits <= 18, rest[digits].isDigit {
            number = number &* 10 &+ Int(rest[digits] &- UInt8(ascii: "0"))
            digits += 1
        }
        let hasLeadingZero = digits > 1 && rest[0] == UInt8(ascii: "0")
        guard (1...18).contains(digits), !hasLeadingZero else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: rest[digits...])
        return number
    }
}
