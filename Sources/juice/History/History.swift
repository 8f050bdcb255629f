import ArgumentParser
import JuiceMessages
import Kafka

/// `juice history`: shows how a store's stock came to be.
struct History: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the changes of a store's stock, and what caused each.",
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
        let timeout = try settings.timeout()
        let since = try settings.time(.since)
        let store = try settings.store() ?? StoreID.main
        var printer = AnswerPrinter(HistoryFormat(paint: .forStandardOutput()), printsJSON: try settings.boolean(.json))
        let reader = try ResultsReader(Connection(settings), store: store, deadline: Deadline(after: timeout))
        try printer.collecting { body throws(Failure) in try reader.readAll(since: since, idleTimeout: timeout, body) }
        if printer.isEmpty {
            let period = since == nil ? "yet" : "since then"
            StandardError.write("the stock of \(store.printable) has not changed \(period)\n")
        }
    }
}
