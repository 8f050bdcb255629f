import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what became of a command.",
        discussion: """
            Shows every record about commands with this id, with its time, store, topic and PARTITION@OFFSET: the commands and \
            their answers, repeats included, where a command came in if it was forwarded, second copies after a crash, and \
            dead letters that have the id.

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

    @Argument(
        help: ArgumentHelp("The command's id.", valueName: "id"), transform: OptionValue.commandID.value)
    var id: String
    @Option("Only this store.", .store) var store: String?
    @OptionGroup var period: PeriodOptions
    @Option("The service's duplicate window: how much older a command may be than its repeat.", .duplicateWindow)
    var duplicateWindow = Duration.milliseconds(DuplicateWindow.standard.age)
    @Flag("Print each record as a line of JSON, with its time, topic, partition and offset.") var json = false
    @OptionGroup var client: ClientOptions

    func run() throws {
        let search = try search(KafkaClients(client))
        let events = try search.run()
        guard !events.isEmpty else { throw search.notFound }
        if json { return StandardOutput.jsonLines(events.map(\.json)) }
        Table(["time", "what", "store", "record", "text"], events.map(\.cells)).print()
        for note in search.notes { StandardOutput.line(Paint.forStandardOutput()(.faint, note)) }
    }

    func search(_ clients: KafkaClients) throws(Failure) -> CommandSearch {
        CommandSearch(clients, id: id, store: store, period: try period.period(), window: duplicateWindow)
    }
}

struct CommandEvent {
    let topic, store: String
    let place: RecordPlace
    /// The kind of event, for programs: `answer`, `deadLetter`, `forwarded` or the kind of a command.
    let event: String
    let word: String
    var colour: Paint.Colour?
    let text: String
    var members: [(name: String, json: String)] = []
    /// The record's value; nil if it is among the members.
    var record: [UInt8]?

    /// Sorts by time, then by event: a forwarded command and its answer may have the time of the command.
    var order: (Int64, Int, Offset) {
        (place.timestamp ?? 0, ["forwarded": 1, "answer": 2, "deadLetter": 3][event] ?? 0, place.offset)
    }

    /// One line of `--json`: place, topic, event and store, and then the record or its members.
    var json: [UInt8] {
        let head = [("topic", topic), ("event", event), ("store", store)].map { ($0, JSONText.line($1)) }
        return RecordLine.json(place, head + members, record: record)
    }

    var cells: [Table.Cell] {
        // A value may be long. `--json` has all of it.
        let text = DisplayWidth.clip(text.printable, to: 200)
        let position = RecordPosition(partition: place.partition, offset: place.offset).text
        return [
            .init(place.timestamp.map(DateTime.exactText) ?? "-", .faint), .init(word, colour), .init(StoreID.visible(store)),
            .init("\(topic) \(position)"), .init(text),
        ]
    }
}

/// Searches the topics, from the newest records back, for all records about the command with an id, until it has all that can
/// belong together.
final class CommandSearch {
    private let clients: KafkaClients
    private let id: [UInt8]
    private let store: String?
    private let period: TopicReader.Period
    /// How much older a command may be than its repeat, in milliseconds.
    private let longestRepeat: Int64
    private let journalReader = JournalReader()
    private let commandDecoder = CommandDecoder(menu: .standard)

    private var found: [CommandEvent] = []
    /// The places of the commands that were found, and the places of commands that found records name.
    private var commands: Set<InputPlace> = [], named: Set<InputPlace> = []
    /// The stores whose first answer was found, not counting one to a cancel, or to an order that was cancelled before it came.
    private var answered: Set<Name> = []
    /// All records since this time were read, in milliseconds since 1970.
    private var searchedSince = Int64.max

    /// The search ends after this many: more are too many to show.
    private static let most = 1000
    /// How much later than the duplicate window a repeat is still recognized, in milliseconds.
    private static let grace: Int64 = 5 * 60_000

    init(_ clients: KafkaClients, id: String, store: String?, period: TopicReader.Period, window: Duration) {
        (self.clients, self.id, self.store, self.period) = (clients, Array(id.utf8), store, period)
        longestRepeat = Int64(window / .milliseconds(1)) + Self.grace
    }

    /// Searches. Call it once.
    ///
    /// - Returns: the records by their timestamps. Clocks may differ.
    func run() throws(Failure) -> [CommandEvent] {
        let topics = clients.topics
        let reader = try TopicReader(clients, topic: topics.results, topics.orders, topics.restocks, of: store)
        let (progress, total) = (ProgressLine(), reader.watermarks.offsetCount)
        defer { progress.clear() }
        var done = 0
        let isAll = try reader.visit(period, newestFirst: true) { window, times throws(Failure) in
            progress.show("searching", done, of: total)
            try reader.read(window, add)
            done += window.offsetCount
            searchedSince = times.lowerBound
            return !isComplete
        }
        if isAll { searchedSince = period.lowerBound }
        for letter in try DeadLetterReader(clients).all(where: matches) {
            found.append(
                CommandEvent(
                    topic: topics.deadLetters, store: letter.store, place: letter.place, event: "deadLetter",
                    word: "dead letter", colour: .red,
                    text: "\(letter.code), from \(letter.source.text): \(letter.message)" + (letter.isResent ? "  (resent)" : ""),
                    members: letter.members))
        }
        return found.sorted { $0.order < $1.order }
    }

    var notes: [String] {
        var notes: [String] = []
        if !found.contains(where: { ["answer", "deadLetter"].contains($0.event) }) { notes.append("no answer was found") }
        if searchedSince > period.lowerBound {
            let time = DateTime.text(milliseconds: searchedSince)
            notes.append("searched back to \(time): `juice results --order-id` lists older answers to the same id, too")
        }
        return notes
    }

    var notFound: Failure {
        let topics = clients.topics
        let place = store.map { " of \(StoreID.visible($0))" } ?? ""
        let scope = period == TopicReader.always ? "all that is retained was searched" : "searched in that time"
        return Failure(
            .notFound, "no command\(place) has the id \(String(decoding: id, as: UTF8.self))",
            hint: "\(scope), in \(topics.results), \(topics.orders), \(topics.restocks) and \(topics.deadLetters)"
                + (store == nil ? "" : "\nwithout --store, all stores are searched"))
    }

    /// Whether the search can end: each store's first answer and all commands were found, no older command could have a repeat
    /// among the records found, or there are too many to show.
    private var isComplete: Bool {
        guard let oldest = found.map({ $0.place.timestamp ?? 0 }).min() else { return false }
        // A sender's clock may be ahead.
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        return found.count >= Self.most || searchedSince < min(oldest, now) - longestRepeat
            || named.isSubset(of: commands) && found.allSatisfy { answered.contains(Name($0.store)) }
    }

    private func add(_ record: ConsumedRecord) {
        guard let value = record.value, matches(record.timestamp) else { return }
        let topic = record.topic
        guard let input = clients.topics.input(named: topic) else { return addAnswer(record, value) }
        guard let (kind, id) = commandDecoder.command(in: value, of: input), id.bytes.elementsEqual(self.id),
            let store = StoreID.read(key: record.key), matches(store)
        else { return }
        func header(_ name: String) -> RecordPosition? {
            record.headers.last { $0.name == name }?.value.flatMap { RecordPosition($0) }
        }
        let (from, letter) = (header(HeaderName.forwardedFrom), header(HeaderName.resentFrom))
        let event = from == nil ? "\(kind)" : "forwarded"
        commands.insert(InputPlace(topic: input, partition: record.partition, offset: record.offset))
        if let from { named.insert(InputPlace(topic: input, partition: from.partition, offset: from.offset)) }
        found.append(
            CommandEvent(
                topic: topic, store: String(store), place: RecordPlace(record), event: event, word: event,
                text: (from.map { "from \($0.text)" } ?? String(decoding: value, as: UTF8.self))
                    + (letter.map { "  (resent from the dead letter \($0.text))" } ?? ""), record: Array(value)))
    }

    private func addAnswer(_ record: ConsumedRecord, _ value: UnsafeRawBufferPointer) {
        guard let journal = try? journalReader.read(value, partition: record.partition), let head = journal.answer?.head,
            head.id.bytes.elementsEqual(id), matches(head.store), let answer = try? journalReader.wholeAnswer()
        else { return }
        if let handled = journal.handled {
            named.insert(InputPlace(topic: handled.input.topic, partition: handled.input.partition, offset: handled.offset))
        }
        if !answer.isDuplicate, answer.command != .cancel, answer.outcome != .rejected(reason: "cancelled") {
            answered.insert(Name(answer.store))
        }
        let (word, colour) = AnswerCells.outcome(answer)
        found.append(
            CommandEvent(
                topic: record.topic, store: answer.store, place: RecordPlace(record), event: "answer", word: word,
                colour: colour, text: AnswerCells.message(answer), record: Array(value)))
    }

    private func matches(_ store: BorrowedText) -> Bool { self.store.map { store.bytes.elementsEqual($0.utf8) } ?? true }

    private func matches(_ timestamp: Int64?) -> Bool { period.contains(timestamp ?? period.lowerBound) }

    /// Whether a dead letter has the id: as a command, or anywhere in a value that is no command.
    private func matches(_ letter: DeadLetter) -> Bool {
        guard matches(letter.timestamp), store.map({ Name($0) == Name(letter.store) }) ?? true, let value = letter.value,
            let input = clients.topics.input(named: letter.source.topic)
        else { return false }
        let isCommand = value.withUnsafeBytes { commandDecoder.command(in: $0, of: input)?.id.bytes.elementsEqual(id) }
        let quoted = JSONText.line(String(decoding: id, as: UTF8.self))
        return isCommand ?? (Data(value).range(of: Data(quoted.utf8)) != nil)
    }
}

extension CommandDecoder {
    /// The kind and the id of the command in a record of an input, even if it is to be rejected; nil for a dead letter.
    fileprivate func command(in value: UnsafeRawBufferPointer, of topic: InputTopic) -> (kind: CommandKind, id: BorrowedText)? {
        if case .command(let kind, let id, _) = decode(value, of: topic) { (kind, id) } else { nil }
    }
}
