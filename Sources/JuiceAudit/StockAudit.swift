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

    private(set) var audit = Audit()
    private var json = JSONReader()
    private var cursor: RecordCursor
    private let menu: AuditMenu
    private let all: [AuditMenu.Amount]
    /// By store: the last revision that was read, and the records that the journal has not reached.
    private var waiting: [(last: Int, records: ArraySlice<Written>)] = []
    private var count = 0

    private static let mostWaiting = 65_536

    init(_ cursor: RecordCursor, _ menu: AuditMenu) {
        (self.cursor, self.menu) = (cursor, menu)
        all = menu.fruits.indices.map { AuditMenu.Amount(fruit: $0, amount: 0) }
    }

    /// Reads ahead.
    mutating func read(_ names: inout Names) throws {
        while count < Self.mostWaiting, let record = try cursor.next() {
            if let problem = read(record, &names) { audit.add(Fault(.wrong, cursor.place(record.offset), problem)) }
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
            while waiting.count <= store { waiting.append((.min, [])) }
            let last = waiting[store].last
            if last > revision { return "\(subject()): it comes after revision \(last)" }
            var digest = Digest()
            digest.add(json.written(after: stock - 1, through: stock))
            waiting[store].last = revision
            waiting[store].records.append(Written(offset: record.offset, revision: revision, stock: digest.value))
            count += 1
            return key == names.stores[store] ? nil : "\(subject()): its key is another store"
        }
    }

    /// The journal has reached a state of a store.
    mutating func reached(_ state: StoreState, of store: Int, _ names: Names) {
        guard store < waiting.count, let revision = state.revision else { return }
        while let written = waiting[store].records.first, written.revision <= revision {
            waiting[store].records.removeFirst()
            count -= 1
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
    /// - Parameter revision: the last revision of a store; nil if the journal does not say.
    mutating func finish(_ revision: (Int) -> Int?, _ names: inout Names) throws {
        repeat {
            for store in waiting.indices {
                for written in waiting[store].records {
                    guard let last = revision(store), written.revision > last else { continue }
                    report(
                        written, store, last == 0 ? "the store was never changed" : "its last change was the one numbered \(last)",
                        names)
                }
                waiting[store].records = []
            }
            count = 0
            try read(&names)
        } while count > 0
        for fault in cursor.faults { audit.add(fault) }
    }

    private mutating func report(_ written: Written, _ store: Int, _ problem: String, _ names: Names) {
        let subject = "store \(quoted(names.stores[store])), revision \(written.revision)"
        audit.add(Fault(.wrong, cursor.place(written.offset), "\(subject): \(problem)"))
    }
}
