import ArgumentParser
import JuiceMaker
import JuiceMessages
import Kafka

/// `juice stock`: shows the stores' stock.
struct Stock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the stores' stock.",
        discussion: """
            Reads the stock topic: a row for each store that an order or restock has changed. With --watch it keeps showing \
            changes until Ctrl-C.

            Examples:
              juice stock
              juice stock --store gangnam
              juice stock --watch
              juice stock --json | jq .stock.mango
            """
    )

    @Option(help: ArgumentHelp("Only this store.", valueName: "store"))
    var store: String?

    @Flag(inversion: .prefixedNo, help: "Keep showing changes.")
    var watch: Bool?

    @Flag(inversion: .prefixedNo, help: "Print each record unchanged, one per line.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let store = try settings.store()
        let timeout = try settings.timeout()
        let view = StockView(
            table: StockTable(menu: try settings.menu(), language: try settings.language()), store: store,
            printsJSON: try settings.boolean(.json))
        let watches = try settings.boolean(.watch)

        let interruption = watches ? StopSignal.onInterruption() : nil
        let connection = try Connection(settings)
        let reader = try StockReader(connection, store: store, deadline: Deadline(after: timeout))
        try reader.readAll(idleTimeout: timeout)
        view.show(reader.latest)
        guard let interruption else { return }
        try reader.startFollowing()
        while !interruption.isRequested {
            let changes = try reader.follow(timeout: .milliseconds(100))
            if !changes.isEmpty { view.show(changes: changes, latest: reader.latest) }
        }
    }
}

/// Prints stock: as records, as a table, or on a terminal as a table that is redrawn.
private struct StockView {
    let table: StockTable
    let store: String?
    let printsJSON: Bool
    let paint = Paint.forStandardOutput()

    func show(_ entries: [StockReader.Entry]) {
        if let store, entries.isEmpty {
            printsJSON ? StandardOutput.line(json(of: store)) : printTable([.initial(of: store, table.menu)])
            StandardError.write("no order or restock has changed \(store.printable) yet: this is the initial stock\n")
        } else if printsJSON {
            printRecords(entries)
        } else if entries.isEmpty {
            StandardError.write("no order or restock has changed any store yet\n")
        } else {
            printTable(entries.map(\.record))
        }
    }

    func show(changes: [StockReader.Entry], latest: [StockReader.Entry]) {
        if printsJSON {
            printRecords(changes)
        } else if StandardOutput.isTerminal {
            StandardOutput.write(ANSI.clear)
            printTable(latest.map(\.record))
        } else {
            for entry in changes {
                let levels = entry.record.stock.map { "\($0.fruit) \($0.amount)" }.joined(separator: ", ")
                StandardOutput.line("\(entry.record.store): \(levels)".printable)
            }
        }
    }

    private func printTable(_ records: [StockRecord]) {
        let columns = StandardOutput.isTerminal ? LiveTerminal.size.columns : 100
        let lines = table.fitted(to: columns, records).lines(records, paint: paint)
        StandardOutput.line(lines.joined(separator: "\n"))
    }

    private func printRecords(_ entries: [StockReader.Entry]) {
        StandardOutput.write(Array(entries.map { StandardOutput.jsonLine($0.bytes) }.joined()))
    }

    private func json(of store: String) -> String {
        var buffer = OutputBuffer()
        BorrowedText.withText(store) { name in
            AnswerEncoder(menu: table.menu).stock(store: name, revision: 0, levels: FruitStore(menu: table.menu), into: &buffer)
        }
        return buffer.text
    }
}
