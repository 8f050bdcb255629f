import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

struct StockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stock", abstract: "Show the stores' stock.",
        discussion: """
            Reads the stock topic: a row for each store that was ever changed. With --watch it keeps showing \
            changes until Ctrl-C.

            Examples:
              juice stock
              juice stock --store gangnam
              juice stock --watch
              juice stock --json | jq .record.stock.mango
            """
    )

    @Option("Only this store.", .store) var store: String?
    @Flag("Keep showing changes.") var watch = false
    @Flag("Print each record as a line of JSON, with its time, partition and offset.") var json = false
    @Option("The language of the table's titles.", .word) var language = Language.english
    @OptionGroup var menu: MenuOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        let menu = try menu.load()
        let reader = try StockReader(KafkaClients(client), store: store)
        func show(_ entries: [StockReader.Entry]) {
            if json { return StandardOutput.jsonLines(entries.map { RecordLine.json($0.place, record: $0.bytes) }) }
            Table.stock(entries.map(\.record), menu, language).print()
        }

        if reader.latest.isEmpty {
            let name = store.map(StoreID.visible) ?? "any store"
            StandardError.write("nothing has changed \(name) yet: `juice menu` shows the initial stock\n")
        } else {
            show(reader.latest)
        }
        guard watch else { return }
        try reader.reader.follow(reader.apply) { changes in
            if json {
                show(changes)
            } else if StandardOutput.isTerminal {
                // Clears the terminal, and moves the cursor to its top left.
                StandardOutput.write("\u{1B}[2J\u{1B}[H")
                show(reader.latest)
            } else {
                for entry in changes {
                    StandardOutput.line("\(StoreID.visible(entry.record.store)): \(entry.record.stock.text.printable)")
                }
            }
        }
    }
}

/// The stock of all stores, or of one, from the stock topic.
final class StockReader {
    struct Entry {
        let record: StockRecord
        let bytes: [UInt8]
        let place: RecordPlace
    }

    let reader: TopicReader
    private let decoder = StockDecoder()
    private let store: String?
    private var entries: [Name: Entry] = [:]

    /// Reads the topic from its start to its current end.
    ///
    /// - Parameter store: nil reads all stores.
    init(_ clients: KafkaClients, store: String?) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.stock)
        self.store = store
        try reader.read(reader.watermarks) { record in apply(record) }
    }

    /// The latest entry of each store, by name. Unicode spellings of one name are equal as texts, but differ in length.
    var latest: [Entry] {
        entries.values.sorted { ($0.record.store, $0.record.store.utf8.count) < ($1.record.store, $1.record.store.utf8.count) }
    }

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

extension Table {
    /// A row for each store, and a column for each fruit: in menu order, and then those that are only in the records.
    static func stock(_ records: [StockRecord], _ menu: Menu, _ language: Language) -> Table {
        var known = Set(menu.fruits.map(\.id))
        let others = records.flatMap(\.stock).map(\.fruit).filter { known.insert($0).inserted }
        let rows = records.map { record -> [Cell] in
            let levels = Dictionary(record.stock.map { ($0.fruit, $0.amount) }) { first, _ in first }
            let cells = (menu.fruits.map(\.id) + others).map { fruit in
                levels[fruit].map { Cell("\($0)", $0 == 0 ? .red : nil) } ?? Cell("–")
            }
            return [Cell(StoreID.visible(record.store), .bold)] + cells
        }
        let names = menu.fruits.map { $0.name.text(in: language) } + others
        return Table([language == .korean ? "매장" : "store"] + names, rows)
    }
}

extension [FruitAmount] {
    /// `kiwi 6, mango 2`.
    var text: String { map { "\($0.fruit) \($0.amount)" }.joined(separator: ", ") }
}
