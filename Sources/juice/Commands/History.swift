import ArgumentParser
import JuiceMessages

/// `juice history`: shows how a store's stock came to be.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show the changes of a store's stock, and what caused each.",
        discussion: """
            Prints those of the store's answers that changed its stock, each with its revision, what it used and what is left, \
            the newest last. Revisions that are missing are shown as missing, in their place.

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
        let printer = AnswerPrinter(printsJSON: try settings[.json], showsChanges: true)
        defer { printer.flush() }
        let clients = try KafkaClients(settings)
        try TopicReader(clients, topic: clients.topics.results, of: store, timeout: settings[.timeout])
            .read(in: period, AnswerFilter(store: store).entry, printer.print)
        if printer.isEmpty {
            let then = period == TopicReader.always ? "yet" : "in that time"
            StandardError.write("the stock of \(StoreID.visible(store)) has not changed \(then)\n")
        }
    }
}
