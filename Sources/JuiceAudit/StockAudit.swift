import JuiceMessages

/// The stores of a partition that a record named, each with a number.
struct Stores {
    private var table = ByteKeyTable()
    private let partition, partitionCount: Int32

    init(of partition: Int32, _ partitionCount: Int32) { (self.partition, self.partitionCount) = (partition, partitionCount) }

    var count: Int { table.count }

    func owner(of name: UnsafeRawBufferPointer) -> Int32 { Murmur2.partition(of: name, count: partitionCount) }

    /// The number of a store; nil if it belongs to another partition.
    mutating func number(of name: UnsafeRawBufferPointer) -> Int? {
        owner(of: name) == partition ? table.insert(name).index : nil
    }

    subscript(number: Int) -> [UInt8] { table.withKey(at: number) { Array($0) } }
}

/// Checks that every stock record of one partition is a state that the journal says its store was in.
///
/// The stock is a view of the journal: it may skip states, and be late. So the records are read ahead, and each waits for the
/// journal to reach its revision.
struct StockAudit {
    private struct Written {
        let offset: Int64
        let revision: Int
        let value: [UInt8]
    }

    private(set) var audit = Audit()
    private let decoder = StockDecoder()
    private var cursor: RecordCursor
    private let replays: [Replay]
    /// Whether any owner had a menu that is not given. Then the fruits of a record may be those of that menu.
    var hasUnknownMenu = false
    /// By store: the last revision that was read, and the records that the journal has not reached.
    private var waiting: [(last: Int, records: ArraySlice<Written>)] = []
    private var count = 0

    private static let mostWaiting = 65_536

    init(_ cursor: RecordCursor, _ replays: [Replay]) { (self.cursor, self.replays) = (cursor, replays) }

    /// Reads ahead.
    mutating func read(_ stores: inout Stores) throws {
        while count < Self.mostWaiting, let record = try cursor.next() {
            if let problem = read(record, &stores) { audit.add(Fault(.wrong, cursor.place(record.offset), problem)) }
        }
    }

    private mutating func read(_ record: AuditRecord, _ stores: inout Stores) -> String? {
        guard let value = record.value, let key = record.key else { return "it has no key or no value" }
        guard let stock = try? value.withUnsafeBytes(decoder.decode) else { return "it is not the stock of a store" }
        let subject = "store \(quoted(stock.store.utf8)), revision \(stock.revision)"
        guard let store = BorrowedText.withText(stock.store, { stores.number(of: $0.bytes) }) else {
            return "\(subject): the store belongs to another partition"
        }
        while waiting.count <= store { waiting.append((.min, [])) }
        let last = waiting[store].last
        if last > stock.revision { return "\(subject): it comes after revision \(last)" }
        waiting[store].last = stock.revision
        waiting[store].records.append(Written(offset: record.offset, revision: stock.revision, value: value))
        count += 1
        return key == stores[store] ? nil : "\(subject): its key is another store"
    }

    /// The journal has reached a state of a store.
    mutating func reached(_ state: StoreState, of store: Int, _ stores: Stores) {
        guard store < waiting.count, let revision = state.revision else { return }
        while let written = waiting[store].records.first, written.revision <= revision {
            waiting[store].records.removeFirst()
            count -= 1
            guard written.revision == revision, !hasUnknownMenu else { continue }
            let name = stores[store]
            // Each owner writes the fruits of its own menu.
            let right = replays.compactMap { replay in name.withUnsafeBytes { replay.stock(of: $0, state) } }
            guard let first = right.first, !right.contains(written.value) else { continue }
            report(written, name, "it should be \(String(decoding: first, as: UTF8.self))")
        }
    }

    /// Checks the rest, when no record of the journal is left.
    ///
    /// - Parameter revision: the last revision of a store; nil if the journal does not say.
    mutating func finish(_ revision: (Int) -> Int?, _ stores: inout Stores) throws {
        repeat {
            for store in waiting.indices {
                for written in waiting[store].records {
                    guard let last = revision(store), written.revision > last else { continue }
                    report(
                        written, stores[store],
                        last == 0 ? "the store was never changed" : "its last change was the one numbered \(last)")
                }
                waiting[store].records = []
            }
            count = 0
            try read(&stores)
        } while count > 0
        for fault in cursor.faults { audit.add(fault) }
    }

    private mutating func report(_ written: Written, _ store: [UInt8], _ problem: String) {
        audit.add(
            Fault(.wrong, cursor.place(written.offset), "store \(quoted(store)), revision \(written.revision): \(problem)"))
    }
}

/// Text from records as faults show it: quoted, and cut after 64 bytes.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}
