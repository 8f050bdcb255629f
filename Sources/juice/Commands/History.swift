import ArgumentParser
import JuiceMessages

/// `juice history`: shows how a store's stock came to be.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show the changes of a store's stock, and what caused each.",
        discussion: """
            Reads the store's answers: each change has a revision, and the newest is last. Revisions that are missing are \
            shown as missing, in their place.

            --since is how long ago, such as 90s, 10m, 2h or 7d, or a date, with or without a time: 2026-01-31, \
            2026-01-31T12:34 or 2026-01-31T12:34:56Z.

            Examples:
              juice history --store gangnam
              juice history --store gangnam --since 2h
              juice history --store gangnam --json | jq -c '[.revision, .left]'
            """
    )

    @Option(help: ArgumentHelp("The store. (default: main)", valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("Start with the first change at or after this time.", valueName: "time")) var since: String?

    @Flag(inversion: .prefixedNo, help: "Print the answers' records unchanged, and missing revisions as objects, one per line.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let timeout = try settings[.timeout]
        let since = try settings[.since]
        let store = try settings[.store] ?? StoreID.main
        var printer = AnswerPrinter(HistoryFormat(paint: .forStandardOutput()), printsJSON: try settings[.json])
        let reader = try ResultsReader(KafkaClients(settings), store: store, deadline: Deadline(after: timeout))
        try printer.collecting { body throws(Failure) in try reader.readAll(since: since, idleTimeout: timeout, body) }
        if printer.isEmpty {
            let period = since == nil ? "yet" : "since then"
            StandardError.write("the stock of \(store.printable) has not changed \(period)\n")
        }
    }
}

/// The lines of `juice history`: the answers that changed the stock.
struct HistoryFormat: AnswerFormat {
    let paint: Paint

    private static let timeWidth = 19
    private static let revisionWidth = 7

    func shows(_ entry: ResultsReader.Entry) -> Bool {
        entry.answer.flatMap(Change.init) != nil
    }

    /// `2026-01-31 12:34:56       17  order pos-7: 2 × kiwi  used kiwi 6  left kiwi 4`.
    func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer, let change = Change(answer) else { return "" }
        let time = entry.timestamp.map(DateTime.text) ?? ""
        let revision = answer.revision.map(String.init) ?? ""
        let columns = [
            paint(.faint, DisplayWidth.pad(time, to: Self.timeWidth)),
            paint(.bold, DisplayWidth.pad(revision, to: Self.revisionWidth, .right)),
            change.cause.printable,
            change.amounts.map { paint(.cyan, $0.printable) },
            "left \(change.left.text)".printable,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let indent = String(repeating: " ", count: Self.timeWidth + 2 + Self.revisionWidth + 2)
        return indent + paint(.red, missing.message)
    }

    /// A change of the stock, as its answer tells it.
    private struct Change {
        /// What caused it, such as `order pos-7: 2 × kiwi, mango`.
        let cause: String
        /// What it used or returned, such as `used kiwi 6`; nil for a restock, whose answer has only the new levels.
        let amounts: String?
        let left: [FruitAmount]

        /// Nil if the command changed nothing, or the answer is a first answer given again.
        init?(_ answer: Answer) {
            guard !answer.isDuplicate else { return nil }
            switch answer.outcome {
            case .juiceMade(let juices, let used, let left):
                cause = "order \(answer.id): \(juices.items.map(\.description).joined(separator: ", "))"
                (amounts, self.left) = ("used \(used.text)", left)
            case .restocked(let left):
                (cause, amounts, self.left) = ("restock \(answer.id)", nil, left)
            case .cancelled(let returned, let left) where !returned.isEmpty:
                (cause, amounts, self.left) = ("cancel \(answer.id)", "returned \(returned.text)", left)
            case .cancelled, .outOfStock, .rejected: return nil
            }
        }
    }
}
