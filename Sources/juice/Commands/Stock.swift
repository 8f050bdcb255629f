import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

/// `juice stock`: shows the stores' stock.
struct StockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stock", abstract: "Show the stores' stock.",
        discussion: """
            Reads the stock topic: a row for each store that an order or restock has changed. With --watch it keeps showing \
            changes until Ctrl-C.

            Examples:
              juice stock
              juice stock --store gangnam
              juice stock --watch
              juice stock --json | jq .record.stock.mango
            """
    )

    @Option(.store, value: "store", help: "Only this store.") var store: String?
    @Flag(inversion: .prefixedNo, help: "Keep showing changes.") var watch: Bool?
    @Flag(inversion: .prefixedNo, help: "Print each record as a line of JSON, with its time, partition and offset.") var json: Bool?

    @Option(.timeout) var timeout: String?
    @Option(.menu) var menu: String?
    @Option(.language) var language: String?
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let (store, printsJSON, menu) = (try settings[.store], try settings[.json], try settings.menu())
        let table = StockTable(menu: menu, language: try settings[.language])
        let interruption = try settings[.watch] ? StopSignal.onInterruption() : nil
        let reader = try StockReader(KafkaClients(settings).watching(settings), store: store, timeout: settings[.timeout])
        func printRecords(_ entries: [StockReader.Entry]) {
            StandardOutput.jsonLines(entries.map { RecordLine.json($0.place, record: $0.bytes) })
        }
        func printTable(_ entries: [StockReader.Entry]) {
            let records = entries.map(\.record)
            let lines = table.fitted(to: LiveTerminal.columns ?? 100, records).lines(records, paint: .forStandardOutput())
            StandardOutput.line(lines.joined(separator: "\n"))
        }

        try reader.readAll()
        var entries = reader.latest
        if let store, entries.isEmpty {
            entries = [.initial(of: store, menu)]
            StandardError.write("no order or restock has changed \(StoreID.visible(store)) yet: this is the initial stock\n")
        }
        if printsJSON {
            printRecords(entries)
        } else if entries.isEmpty {
            StandardError.write("no order or restock has changed any store yet\n")
        } else {
            printTable(entries)
        }
        guard let interruption else { return }
        try reader.reader.follow(until: interruption, reader.apply) { changes in
            if printsJSON {
                printRecords(changes)
            } else if StandardOutput.isTerminal {
                StandardOutput.write(ANSI.clear)
                printTable(reader.latest)
            } else {
                for entry in changes {
                    StandardOutput.line("\(StoreID.visible(entry.record.store)): \(entry.record.stock.text.printable)")
                }
            }
        }
    }
}

/// Reads the stock of all stores, or of one, from the stock topic.
final class StockReader {
    /// A store's latest record, its bytes, and its place unless it was never written.
    struct Entry {
        let record: StockRecord
        let bytes: [UInt8]
        let place: RecordPlace?

        /// What the record of a store would be that no command has changed.
        static func initial(of store: String, _ menu: Menu) -> Entry {
            var buffer = OutputBuffer()
            BorrowedText.withText(store) { name in
                AnswerEncoder(menu: menu).stock(store: name, revision: 0, levels: FruitStore(menu: menu), into: &buffer)
            }
            return Entry(record: .initial(of: store, menu), bytes: buffer.bytes, place: nil)
        }
    }

    let reader: TopicReader
    private let decoder = StockDecoder()
    private let store: String?
    private var entries: [Name: Entry] = [:]

    /// - Parameter store: nil reads all stores.
    init(_ clients: KafkaClients, store: String?, timeout: Duration) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.stock, timeout: timeout)
        self.store = store
    }

    /// The latest entry of each store, by name. Spellings of one name, which are equal as texts, differ in length.
    var latest: [Entry] {
        entries.values.sorted { ($0.record.store, $0.record.store.utf8.count) < ($1.record.store, $1.record.store.utf8.count) }
    }

    /// Reads the topic from its start to its current end.
    func readAll() throws(Failure) { try reader.readAll { record in apply(record) } }

    /// Applies a record. It skips invalid stock records: one of them must not stop a monitor.
    ///
    /// - Returns: the store's new entry; nil if the record was skipped or removed the store.
    @discardableResult
    func apply(_ record: ConsumedRecord) -> Entry? {
        guard let key = record.key else { return nil }
        let name = Name(String(decoding: key, as: UTF8.self))
        if let store, Name(store) != name { return nil }
        guard let value = record.value else {
            entries[name] = nil
            return nil
        }
        guard let stock = try? decoder.decode(value) else { return nil }
        let entry = Entry(record: stock, bytes: Array(value), place: RecordPlace(record))
        entries[name] = entry
        return entry
    }
}

/// Stores and their fruits as a table: a row for each store, a number and a bar for each fruit.
struct StockTable {
    let menu: Menu
    let language: Language
    var barColumns = 8

    /// The same table with bars as wide as `columns` allows, from 1 to 16 columns each.
    func fitted(to columns: Int, _ records: [StockRecord]) -> StockTable {
        var table = self
        table.barColumns = 1
        let narrowest = table.lines(records, paint: .none).map { DisplayWidth.of($0) }.max() ?? 0
        table.barColumns = min(16, max(1, 1 + (columns - narrowest) / max(1, fruits(in: records).count)))
        return table
    }

    /// The lines of the table. Fruits are in menu order, followed by those that are only in the records. A fruit's bar is full at
    /// its initial stock, or at the highest level of any listed store.
    func lines(_ records: [StockRecord], paint: Paint) -> [String] {
        let fruits = fruits(in: records)
        var table = Table(
            [.init(title: language == .korean ? "가게" : "store")]
                + fruits.flatMap { [.init(title: $0.name, alignment: .right), .init(title: "", width: barColumns)] })
        for record in records {
            let levels = Dictionary(record.stock.map { ($0.fruit, $0.amount) }) { first, _ in first }
            let cells = fruits.flatMap { fruit -> [Table.Cell] in
                guard let level = levels[fruit.id] else { return [.init("-"), .init("")] }
                let bar = Bar.text(level, full: fruit.full, columns: barColumns)
                return [.init(String(level)), .init(bar, colour(level, of: fruit))]
            }
            table.add([.init(StoreID.visible(record.store), .bold)] + cells)
        }
        return table.lines(paint: paint)
    }

    private struct ShownFruit {
        let id, name: String
        let full: Int
    }

    private func fruits(in records: [StockRecord]) -> [ShownFruit] {
        var highest: [String: Int] = [:]
        var others: [String] = []
        for entry in records.lazy.flatMap(\.stock) {
            if highest[entry.fruit] == nil && menu.fruitIndex(id: entry.fruit) == nil { others.append(entry.fruit) }
            highest[entry.fruit] = max(highest[entry.fruit] ?? 0, entry.amount)
        }
        let known = menu.fruits.map { fruit in
            ShownFruit(
                id: fruit.id, name: fruit.name.text(in: language).printable, full: max(fruit.initialStock, highest[fruit.id] ?? 0))
        }
        return known + others.map { ShownFruit(id: $0, name: $0.printable, full: highest[$0] ?? 0) }
    }

    private func colour(_ level: Int, of fruit: ShownFruit) -> Paint.Colour {
        if level == 0 { return .red }
        return level * 4 < fruit.full ? .yellow : .green
    }
}

extension StockRecord {
    /// The stock of a store before its first change.
    static func initial(of store: String, _ menu: Menu) -> StockRecord {
        let stock = menu.fruits.map { FruitAmount(fruit: $0.id, amount: $0.initialStock) }
        return StockRecord(store: store, revision: 0, stock: stock)
    }
}

extension [FruitAmount] {
    /// `kiwi 6, mango 2`.
    var text: String { map { "\($0.fruit) \($0.amount)" }.joined(separator: ", ") }
}
