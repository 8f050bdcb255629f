import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

/// `juice results`: shows the answers.
struct ResultsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results", abstract: "Show the service's answers.",
        discussion: """
            Prints all answers in the order of time, or with --last the last ones. With --follow it prints new answers as they \
            arrive, until Ctrl-C. The revisions of a store have no gaps: if one is missing, that is shown in its place.

            Between the answers the service writes notes: what it forwarded or put aside, how far it has read, and who \
            owns a partition. They are of no store, and shown only with --notes.

            \(TimeText.help)

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --since 12:00 --until 12:30
              juice results --order-id pos-7-000123
              juice results --json | jq -r .record.message
              juice results --notes --json | jq -c 'select(.record.type == "claim")'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print new answers as they arrive.") var follow: Bool?
    @Option(.store, value: "store", help: "Only this store.") var store: String?
    @Option(.orderID, value: "id", help: "Only answers to this order and its cancel.") var orderId: String?
    @Option(.last, value: "count", help: "Start with this many of the last answers.") var last: Int?
    @OptionGroup var period: PeriodOptions
    @Flag(inversion: .prefixedNo, help: "Also print the service's notes.") var notes: Bool?
    @Flag(inversion: .prefixedNo, help: "Print each record as a line of JSON, with its time, partition and offset.") var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let (last, period, order) = (try settings[.last], try settings.period(), try settings[.orderID])
        let follows = try settings[.follow]
        guard !follows || period.upperBound == TopicReader.always.upperBound else {
            throw Failure(.usage, "--follow and --until exclude each other")
        }
        // The revisions of one order have gaps.
        let printer = AnswerPrinter(
            ResultsFormat(paint: .forStandardOutput()), printsJSON: try settings[.json], findsGaps: order == nil)
        defer { printer.flush() }
        let interruption = follows ? StopSignal.onInterruption() : nil
        let reader = try ResultsReader(
            KafkaClients(settings), store: settings[.store], order: order, showsNotes: settings[.notes],
            timeout: settings[.timeout])
        if let last {
            try reader.last(last, in: period).forEach(printer.print)
        } else if interruption == nil || period != TopicReader.always {
            try reader.read(in: period, printer.print)
        }
        guard let interruption else {
            if printer.isEmpty { StandardError.write("no answers\n") }
            return
        }
        printer.flush()
        try reader.follow(until: interruption) { entries in
            entries.forEach(printer.print)
            printer.flush()
        }
    }
}

/// The options for a period.
struct PeriodOptions: ParsableArguments {
    @Option(.since, value: "time", help: "Only what was written at or after this time.") var since: String?
    @Option(.until, value: "time", help: "Only what was written before this time.") var until: String?
}

extension Settings {
    /// The time between `--since` and `--until`.
    func period() throws(Failure) -> TopicReader.Period {
        let since = max(try self[.since] ?? 0, TopicReader.always.lowerBound)
        let until = try self[.until] ?? TopicReader.always.upperBound
        guard since < until else { throw Failure(.usage, "--since must be before --until") }
        return since..<until
    }
}

/// Reads the answers of all stores, or of one, from the results topic.
struct ResultsReader {
    /// A record of the topic. The answer is nil for a note of the journal, and if this version cannot decode it.
    struct Entry {
        let answer: Answer?
        let bytes: [UInt8]
        let place: RecordPlace
    }

    private let reader: TopicReader
    private let decoder = AnswerDecoder()
    private let store: String?
    private let order: Name?
    private let showsNotes: Bool

    /// - Parameters:
    ///   - store: nil reads all stores.
    ///   - order: the id of an order, to read only the answers to it and its cancel.
    ///   - showsNotes: whether notes of the journal count as answers. They are of no store.
    init(
        _ clients: KafkaClients, store: String?, order: String? = nil, showsNotes: Bool = false, timeout: Duration
    ) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.results, of: store, timeout: timeout)
        (self.store, self.order, self.showsNotes) = (store, order.map { Name($0) }, showsNotes)
    }

    /// Reads the answers of a period, in the order of time.
    func read(in period: TopicReader.Period = TopicReader.always, _ body: (Entry) -> Void) throws(Failure) {
        try reader.read(in: period, entry, body)
    }

    /// The last answers of a period, oldest first.
    func last(_ count: Int, in period: TopicReader.Period = TopicReader.always) throws(Failure) -> [Entry] {
        try reader.last(count, in: period, entry)
    }

    func follow(until stop: StopSignal, show: ([Entry]) -> Void) throws(Failure) {
        try reader.follow(until: stop, entry, show: show)
    }

    private func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store, !(record.key?.elementsEqual(store.utf8) ?? false) { return nil }
        let answer = try? decoder.decode(value)
        if let order {
            guard let answer, answer.command != .restock, Name(answer.id) == order else { return nil }
        }
        guard answer != nil || showsNotes || !JournalNote.isNote(value) else { return nil }
        return Entry(answer: answer, bytes: Array(value), place: RecordPlace(record))
    }
}

/// What ``AnswerPrinter`` prints for people.
protocol AnswerFormat {
    /// Whether the entry is printed at all.
    func shows(_ entry: ResultsReader.Entry) -> Bool

    mutating func line(_ entry: ResultsReader.Entry) -> String

    mutating func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String
}

/// Prints answers, and before an answer the revisions of its store that are missing.
final class AnswerPrinter {
    /// Whether nothing was printed.
    private(set) var isEmpty = true
    private var format: any AnswerFormat
    private let printsJSON, findsGaps: Bool
    private var trackers: [Name: RevisionTracker] = [:]
    private var output: BatchedOutput

    /// - Parameters:
    ///   - printsJSON: whether to print the records instead of the format's lines.
    ///   - findsGaps: whether all answers of a store are printed, so that missing revisions can be found.
    init(_ format: any AnswerFormat, printsJSON: Bool, findsGaps: Bool = true, to output: BatchedOutput = BatchedOutput()) {
        (self.format, self.printsJSON, self.findsGaps, self.output) = (format, printsJSON, findsGaps, output)
    }

    func print(_ entry: ResultsReader.Entry) {
        let missing = findsGaps ? entry.answer.flatMap(missingRevisions) : nil
        guard format.shows(entry) else { return }
        isEmpty = false
        guard printsJSON else {
            if let missing { output.line(format.line(missing, before: entry)) }
            return output.line(format.line(entry))
        }
        if let missing {
            output.write(StandardOutput.jsonLine(RecordLine.json(entry.place, [("missing", JSONText.line(missing))], record: nil)))
        }
        output.write(StandardOutput.jsonLine(RecordLine.json(entry.place, record: entry.bytes, isJSON: entry.answer != nil)))
    }

    private func missingRevisions(before answer: Answer) -> MissingRevisions? {
        let gap = trackers[Name(answer.store), default: RevisionTracker()].gap(before: answer)
        return gap.map { MissingRevisions(of: answer.store, $0) }
    }

    func flush() { output.flush() }
}

/// Revisions of a store that no answer has. As JSON, they are `missing` in a line with the place of the answer that shows it.
struct MissingRevisions: Encodable {
    let store: String
    let from, to: Int
    let message: String

    init(of store: String, _ revisions: ClosedRange<Int>) {
        (self.store, from, to) = (store, revisions.lowerBound, revisions.upperBound)
        message = from == to ? "revision \(from) is missing" : "revisions \(from) to \(to) are missing"
    }
}

/// The lines of `juice results`: all answers, and the journal's notes as they are.
struct ResultsFormat: AnswerFormat {
    let paint: Paint
    /// Whether lines have dates, as all have after one that is not of today.
    private var hasDates = false
    private var today = DateTime.today()

    init(paint: Paint) { self.paint = paint }

    func shows(_ entry: ResultsReader.Entry) -> Bool { true }

    mutating func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer else {
            let place = "partition \(entry.place.partition) offset \(entry.place.offset)"
            guard entry.bytes.withUnsafeBytes({ JournalNote.isNote($0) }) else {
                return "(\(place) is no answer that this version knows)"
            }
            let columns = [time(of: entry), place, String(decoding: entry.bytes, as: UTF8.self).printable]
            return columns.compactMap { $0.map { paint(.faint, $0) } }.joined(separator: "  ")
        }
        return AnswerLine.text(answer, time: time(of: entry), paint: paint)
    }

    mutating func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let columns = [
            time(of: entry).map { paint(.faint, $0) }, DisplayWidth.pad(StoreID.visible(missing.store), to: 12),
            paint(.red, DisplayWidth.pad("missing", to: 12)), missing.message,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    private mutating func time(of entry: ResultsReader.Entry) -> String? {
        guard let timestamp = entry.place.timestamp else { return nil }
        if timestamp >= today.upperBound { today = DateTime.today() }
        hasDates = hasDates || !today.contains(timestamp)
        return hasDates ? DateTime.text(milliseconds: timestamp) : ClockTime.of(secondsSince1970: Int(timestamp / 1000))
    }
}
