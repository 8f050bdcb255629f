import ArgumentParser
import JuiceMessages

/// `juice history`: shows how a store's stock came to be.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show the changes of a store's stock, and what caused each.",
        discussion: """
            Reads the store's answers: each change has a revision, and the newest is last. Revisions that are missing are \
            shown as missing, in their place.

            \(TimeText.help)

            Examples:
              juice history --store gangnam
              juice history --store gangnam --since 2h
              juice history --store gangnam --json | jq -c '[.time, .record.revision, .record.left]'
            """
    )

    @Option(.store, value: "store", help: "The store. (default: main)") var store: String?
    @OptionGroup var period: PeriodOptions
    @Flag(inversion: .prefixedNo, help: "Print each answer's record as a line of JSON, with its time, partition and offset.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let (period, store) = (try settings.period(), try settings[.store] ?? StoreID.main)
        let printer = AnswerPrinter(HistoryFormat(paint: .forStandardOutput()), printsJSON: try settings[.json])
        defer { printer.flush() }
        try ResultsReader(KafkaClients(settings), store: store, timeout: settings[.timeout]).read(in: period, printer.print)
        if printer.isEmpty {
            let then = period == TopicReader.always ? "yet" : "in that time"
            StandardError.write("the stock of \(StoreID.visible(store)) has not changed \(then)\n")
        }
    }
}

/// The lines of `juice history`: the answers that changed the stock.
struct HistoryFormat: AnswerFormat {
    let paint: Paint

    private static let timeWidth = 19
    private static let revisionWidth = 7

    func shows(_ entry: ResultsReader.Entry) -> Bool { entry.answer.flatMap(change) != nil }

    /// `2026-01-31 12:34:56       17  order pos-7: 2 × kiwi  used kiwi 6  left kiwi 4`.
    func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer, let change = change(answer) else { return "" }
        let columns = [
            paint(.faint, DisplayWidth.pad(entry.place.timestamp.map(DateTime.text) ?? "", to: Self.timeWidth)),
            paint(.bold, DisplayWidth.pad(answer.revision.map(String.init) ?? "", to: Self.revisionWidth, .right)),
            change.cause.printable, change.amounts.map { paint(.cyan, $0.printable) }, "left \(change.left.text)".printable,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let indent = String(repeating: " ", count: Self.timeWidth + 2 + Self.revisionWidth + 2)
        return indent + paint(.red, missing.message)
    }

    /// What changed the stock, and what that used or returned. A restock's answer has only the new levels. Nil if the command
    /// changed nothing, or the answer is a first answer given again.
    private func change(_ answer: Answer) -> (cause: String, amounts: String?, left: [FruitAmount])? {
        guard !answer.isDuplicate else { return nil }
        switch answer.outcome {
        case .juiceMade(let juices, let used, let left):
            let names = juices.items.map(\.description).joined(separator: ", ")
            return ("order \(answer.id): \(names)", "used \(used.text)", left)
        case .restocked(let left): return ("restock \(answer.id)", nil, left)
        case .cancelled(let returned, let left) where !returned.isEmpty:
            return ("cancel \(answer.id)", "returned \(returned.text)", left)
        case .cancelled, .outOfStock, .rejected, .answerLost: return nil
        }
    }
}
