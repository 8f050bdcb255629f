import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

/// `juice show`: shows what became of a command.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what became of an order or a restock.",
        discussion: """
            Shows every record about the command with this id, with its time, topic and PARTITION@OFFSET: the command, its \
            answer, repeats and their answers, a cancel, where a command came in if it was forwarded, second copies after a \
            crash, and dead letters that have the id.

            It searches from the newest records back, until it has the first answer to the command; with --store, only the \
            answers in the store's partition. If the id was used again later, --until finds an earlier use, and `juice results \
            --order-id` lists the answers to all.

            \(TimeText.help)

            Exit status: 0 found, 1 not found, 64 usage, 69 no broker.

            Examples:
              juice show pos-7-000123 --store gangnam
              juice show pos-7-000123 --until 2026-01-31
              juice show bot-1-42 --json | jq -c '[.time, .topic, .partition, .offset]'
            """
    )

    @Argument(help: ArgumentHelp("The id of the order or restock.", valueName: "order-id")) var id: String
    @Option(.store, value: "store", help: "Only this store.") var store: String?
    @OptionGroup var period: PeriodOptions
    @Flag(inversion: .prefixedNo, help: "Print each record as a line of JSON, with its time, topic, partition and offset.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func validate() throws {
        guard (1...CommandKind.maximumIDLength).contains(id.utf8.count) else {
            throw ValidationError("an id is 1 to \(CommandKind.maximumIDLength) bytes long")
        }
    }

    func run() throws {
        let settings = try Settings(self)
        let printsJSON = try settings[.json]
        let search = try CommandSearch(KafkaClients(settings), id: id, settings)
        let stories = try search.run()
        guard !stories.isEmpty else { throw search.notFound }
        if printsJSON {
            let lines = stories.flatMap { story in story.events.map { $0.json(store: story.key.store.text) } }
            return StandardOutput.write(Array(lines.map { StandardOutput.jsonLine($0) }.joined()))
        }
        let paint = Paint.forStandardOutput()
        let extent = search.extent.map { [paint(.faint, $0)] } ?? []
        StandardOutput.line((stories.flatMap { $0.lines(paint: paint) } + extent).joined(separator: "\n"))
    }
}

// MARK: - What is shown

/// A record about a command.
struct CommandEvent {
    /// What it is, for programs.
    let event: String
    /// What it is, for people.
    let word: String
    let colour: Paint.Colour?
    let topic: String
    let place: RecordPlace
    var text: String
    /// What else there is, for programs.
    var members: [(name: String, json: String)] = []
    /// Its value; nil if it is among the members.
    let record: [UInt8]?

    /// One line, with what all lines of `--json` have, and what the record is.
    func json(store: String) -> [UInt8] {
        let head = [("topic", topic), ("event", event), ("store", store)].map { ($0, JSONText.line($1)) }
        return RecordLine.json(place, head + members, record: record)
    }
}

/// All that is known of one command of one store, or of an order and its cancel.
struct CommandStory {
    /// Commands that share an id, and are one matter.
    struct Key: Hashable {
        let store: Name
        let isRestock: Bool
    }

    let id: String
    let key: Key
    /// In the order of the answers. Clocks may differ.
    let events: [CommandEvent]

    /// A value may be long. `--json` has all of it.
    private static let textWidth = 200

    func lines(paint: Paint) -> [String] {
        var table = Table([.init(title: "", width: 23), .init(title: ""), .init(title: ""), .init(title: "")])
        for event in events {
            let position = LetterPosition(partition: event.place.partition, offset: event.place.offset).text
            table.add([
                .init(event.place.timestamp.map(DateTime.exactText) ?? "-", .faint), .init(event.word, event.colour),
                .init("\(event.topic) \(position)"), .init(DisplayWidth.clip(event.text.printable, to: Self.textWidth)),
            ])
        }
        return [paint(.bold, "\(key.isRestock ? "restock" : "order") \(id.printable) of \(StoreID.visible(key.store.text))")]
            + table.lines(paint: paint).dropFirst()
    }
}
