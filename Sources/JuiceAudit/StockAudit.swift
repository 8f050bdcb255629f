/// Checks that every stock record is a state its store was in, and the last one its final state.
struct StockAudit {
    private(set) var list = FaultList()
    private var json = JSONReader()

    init(_ topics: AuditTopics, _ names: Names, _ ledger: Ledger) {
        var revisions = Array(repeating: 0, count: names.stores.count)
        for (partition, records) in topics.stock.enumerated() {
            for record in records { check(record, partition, names, ledger, &revisions) }
        }
        for store in ledger.changedStores where revisions[store] != ledger[store].revision {
            let subject = "the stock of store \(quoted(names.stores[store]))"
            let problem =
                revisions[store] == 0
                ? "\(subject) is not there"
                : "\(subject) is at revision \(revisions[store]), should be at \(ledger[store].revision)"
            list.add(.missing, .stock, names.owners[store], nil, problem)
        }
    }

    private mutating func check(
        _ record: AuditRecord,
        _ partition: Int,
        _ names: Names,
        _ ledger: Ledger,
        _ revisions: inout [Int]
    ) {
        func report(_ problem: String) { list.add(.wrong, .stock, partition, record.offset, problem) }
        guard let value = record.value, let key = record.key else {
            return report("it has no key or no value")
        }
        value.withUnsafeBufferPointer { value in
            guard json.read(value), json.tokens[0].kind == .object, json.memberCount() == 3,
                let name = json.value("store").flatMap(json.string),
                let revision = json.value("revision").flatMap(json.integer)
            else { return report("it is not the stock of a store") }
            let subject = { "store \(quoted(name)), revision \(revision)" }
            if key.withUnsafeBufferPointer({ !isSame($0, name) }) {
                report("\(subject()): its key is another store")
            }
            guard let store = names.stores.find(name), ledger[store].revision > 0 else {
                return report("\(subject()): the store was never changed")
            }
            if names.owners[store] != partition {
                report("\(subject()): the store belongs to partition \(names.owners[store])")
            }
            guard let levels = ledger.levels(of: store, revision: revision) else {
                return report("\(subject()): there were \(ledger[store].revision) changes")
            }
            if revision <= revisions[store] {
                report("\(subject()): it comes after revision \(revisions[store])")
            }
            revisions[store] = revision
            let expected = Contract.fruits.indices.map { Contract.Amount(fruit: $0, amount: levels[$0]) }
            if let difference = AnswerCheck(json: json).amounts("stock", expected) {
                report("\(subject()): \(difference)")
            }
        }
    }
}
