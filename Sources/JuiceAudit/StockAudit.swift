/// Checks that every stock record of one partition is a state that the journal says its store was in.
///
/// The stock is a view of the journal: it may skip states, and be late. So the records are read ahead, and each waits for the
/// journal to reach its revision.
struct StockAudit {
    private struct Written {
        let offset: Int64
        let revision: Int
        let stock: UInt64
    }

    private(set) var list = FaultList()
    private var json = JSONReader()
    private var cursor: RecordCursor
    private let menu: AuditMenu
    private let all: [AuditMenu.Amount]
    /// The records of each store that the journal has not reached, behind those that it has.
    private var waiting: [(records: [Written], reached: Int)] = []
    private var count = 0

    private static let mostWaiting = 65_536

    init(_ cursor: RecordCursor, _ menu: AuditMenu) {
        (self.cursor, self.menu) = (cursor, menu)
        all = menu.fruits.indices.map { AuditMenu.Amount(fruit: $0, amount: 0) }
    }

    /// Reads ahead.
    mutating func read(_ names: inout Names) throws {
        while count < Self.mostWaiting, let record = try cursor.next() {
            if let problem = read(record, &names) { list.add(.wrong, .stock, cursor.partition, record.offset, problem) }
        }
    }

    private mutating func read(_ record: AuditRecord, _ names: inout Names) -> String? {
        guard let value = record.value, let key = record.key else { return "it has no key or no value" }
        return value.withUnsafeBufferPointer { value in
            guard json.readObject(value), json.elements(of: 0).count == 6, let name = json.value("store").flatMap(json.string),
                let store = names.store(name), let revision = json.integer("revision"), let stock = json.value("stock")
            else { return "it is not the stock of a store" }
            let subject = { "store \(quoted(name)), revision \(revision)" }
            if names.owners[store] != cursor.partition {
                return "\(subject()): the store belongs to partition \(names.owners[store])"
            }
            while waiting.count <= store { waiting.append(([], 0)) }
            if let last = waiting[store].records.last, last.revision > revision {
                return "\(subject()): it comes after revision \(last.revision)"
            }
            var digest = Digest()
            digest.add(json.written(after: stock - 1, through: stock))
            waiting[store].records.append(Written(offset: record.offset, revision: revision, stock: digest.value))
            count += 1
            return key == names.stores[store] ? nil : "\(subject()): its key is another store"
        }
    }

    /// The journal has reached a state of a store.
    mutating func reached(_ state: StoreState, of store: Int, _ names: Names) {
        guard store < waiting.count, let revision = state.revision else { return }
        while waiting[store].reached < waiting[store].records.count {
            let written = waiting[store].records[waiting[store].reached]
            guard written.revision <= revision else { return }
            waiting[store].reached += 1
            count -= 1
            // The last one stays, for the next to be compared with.
            if waiting[store].reached > 64 {
                waiting[store].records.removeFirst(waiting[store].reached - 1)
                waiting[store].reached = 1
            }
            guard written.revision == revision, !all.contains(where: { state.levels[$0.fruit] < 0 }) else { continue }
            var (text, digest) = ([UInt8](), Digest())
            text.add(":")
            text.add(all, menu) { state.levels[$0.fruit] }
            text.withUnsafeBufferPointer { digest.add($0) }
            guard written.stock != digest.value else { continue }
            report(written, store, "its stock should be \(String(decoding: text.dropFirst(), as: UTF8.self))", names)
        }
    }

    /// Checks the rest, when no record of the journal is left.
    ///
    /// - Parameter revision: the last revision of a store; nil if the journal does not tell it.
    mutating func finish(_ revision: (Int) -> Int?, _ names: inout Names) throws {
        repeat {
            for store in waiting.indices {
                let (records, reached) = waiting[store]
                for written in records[reached...] {
                    guard let last = revision(store), written.revision > last else { continue }
                    report(written, store, last == 0 ? "the store was never changed" : "there were \(last) changes", names)
                }
                waiting[store] = (Array(records.suffix(1)), 1)
            }
            count = 0
            try read(&names)
        } while count > 0
    }

    private mutating func report(_ written: Written, _ store: Int, _ problem: String, _ names: Names) {
        let subject = "store \(quoted(names.stores[store])), revision \(written.revision)"
        list.add(.wrong, .stock, cursor.partition, written.offset, "\(subject): \(problem)")
    }
}
