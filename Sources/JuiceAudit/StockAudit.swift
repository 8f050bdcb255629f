/// Checks that every stock record of one partition is a state its store was in, and the last one its final state.
struct StockAudit {
    private(set) var list = FaultList()
    private var json = JSONReader()
    private var cursor: RecordCursor
    private let partition: Int
    private let menu: AuditMenu
    /// The state that the next record is about, and that the replay has not reached.
    private var awaited: (store: Int, revision: Int)?
    private var isAtEnd = false
    /// The last record of each store that no answer has named yet: the answers from before have expired.
    private var early: [Int: AuditRecord] = [:]

    init(_ cursor: RecordCursor, partition: Int, _ menu: AuditMenu) {
        (self.cursor, self.partition, self.menu) = (cursor, partition, menu)
    }

    /// Checks the records up to the state that the replay has reached.
    mutating func advance(_ names: inout Names, _ ledger: inout Ledger) throws {
        while !isAtEnd {
            if let awaited, let revision = ledger[awaited.store].revision, revision < awaited.revision {
                return
            }
            awaited = nil
            guard let record = try cursor.peek() else {
                isAtEnd = true
                return
            }
            check(record, &names, &ledger, .more)
            if awaited != nil { return }
            _ = try cursor.next()
        }
    }

    /// Checks the rest, when no answer is left.
    mutating func finish(_ names: inout Names, _ ledger: inout Ledger) throws {
        while let record = try cursor.peek() {
            awaited = nil
            check(record, &names, &ledger, .none)
            if let awaited { reportTooNew(record, awaited.store, awaited.revision, names, &ledger) }
            _ = try cursor.next()
        }
        for (store, record) in early.sorted(by: { $0.key < $1.key }) where ledger.recorded(of: store) == 0 {
            check(record, &names, &ledger, .none)
        }
        awaited = nil
        for store in ledger.stale {
            let subject = "the stock of store \(quoted(names.stores[store]))"
            let recorded = ledger.recorded(of: store)
            let problem =
                recorded == 0
                ? "\(subject) is not there"
                : "\(subject) is at revision \(recorded), should be at \(ledger[store].revision ?? 0)"
            list.add(.missing, .stock, partition, nil, problem)
        }
    }

    private mutating func reportTooNew(
        _ record: AuditRecord,
        _ store: Int,
        _ revision: Int,
        _ names: Names,
        _ ledger: inout Ledger
    ) {
        let changes = ledger[store].revision ?? 0
        let problem = changes == 0 ? "the store was never changed" : "there were \(changes) changes"
        let subject = "store \(quoted(names.stores[store])), revision \(revision)"
        list.add(.wrong, .stock, partition, record.offset, "\(subject): \(problem)")
    }

    /// Whether answers are left, which may settle what a store holds.
    private enum Answers { case more, none }

    private mutating func check(
        _ record: AuditRecord,
        _ names: inout Names,
        _ ledger: inout Ledger,
        _ answers: Answers
    ) {
        func report(_ problem: String) { list.add(.wrong, .stock, partition, record.offset, problem) }
        guard let value = record.value, let key = record.key else {
            return report("it has no key or no value")
        }
        value.withUnsafeBufferPointer { value in
            guard json.read(value), json.tokens[0].kind == .object, json.memberCount() == 3,
                let name = json.value("store").flatMap(json.string), let store = names.store(name),
                let revision = json.value("revision").flatMap(json.integer)
            else { return report("it is not the stock of a store") }
            let subject = { "store \(quoted(name)), revision \(revision)" }
            guard names.owners[store] == partition else {
                return report("\(subject()): the store belongs to partition \(names.owners[store])")
            }
            // The replay may have seen no change of it since the answers from before have expired.
            guard let reached = ledger[store].revision else {
                early[store] = record
                return
            }
            guard revision <= reached, answers == .none || ledger.doubt(of: store) == nil else {
                awaited = (store, revision)
                return
            }
            if key.withUnsafeBufferPointer({ !isSame($0, name) }) {
                report("\(subject()): its key is another store")
            }
            if revision <= ledger.recorded(of: store) {
                report("\(subject()): it comes after revision \(ledger.recorded(of: store))")
            }
            ledger.record(store, revision: revision)
            if let levels = ledger.levels(of: store, revision: revision) {
                let expected = menu.fruits.indices.map { AuditMenu.Amount(fruit: $0, amount: levels[$0]) }
                if let difference = AnswerCheck(json: json, menu: menu).amounts("stock", expected) {
                    report("\(subject()): \(difference)")
                }
            } else if revision == reached {
                learn(store, &ledger)
            } else if !ledger.hasForgotten {
                report("\(subject()): there were \(reached) changes")
            }
        }
    }

    /// The record tells the levels that no answer has.
    private func learn(_ store: Int, _ ledger: inout Ledger) {
        guard let stock = json.value("stock"), json.tokens[stock].kind == .object else { return }
        var state = ledger[store]
        json.forEachMember(of: stock) { name, value in
            if let fruit = menu.fruit(json.text(name)), state.unknown.contains(fruit),
                let level = json.integer(value), Contract.levels.contains(level)
            {
                state.levels[fruit] = level
                state.unknown.removeAll { $0 == fruit }
            }
            return true
        }
        ledger.learn(store, state)
    }
}
