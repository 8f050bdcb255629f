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
        let printer = AnswerPrinter(printsJSON: try settings[.json], findsGaps: order == nil)
        defer { printer.flush() }
        let interruption = follows ? StopSignal.onInterruption() : nil
        let (clients, store) = (try KafkaClients(settings).watching(settings), try settings[.store])
        let filter = AnswerFilter(store: store, order: order, showsNotes: try settings[.notes])
        let reader = try TopicReader(clients, topic: clients.topics.results, of: store, timeout: settings[.timeout])
        if let last {
            try reader.last(last, in: period, filter.entry).forEach(printer.print)
        } else if interruption == nil || period != TopicReader.always {
            try reader.read(in: period, filter.entry, printer.print)
        }
        guard let interruption else {
            if printer.isEmpty { StandardError.write("no answers\n") }
            return
        }
        printer.flush()
        try reader.follow(until: interruption, filter.entry) { entries in
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

/// Chooses among the records of the results: the answers of all stores, or of one.
struct AnswerFilter {
    /// A record of the topic. The answer is nil for a note of the journal, and if this version cannot decode it.
    struct Entry {
        let answer: Answer?
        let bytes: [UInt8]
        let place: RecordPlace
    }

    private let decoder = AnswerDecoder()
    private let store, order: Name?
    private let showsNotes: Bool

    /// - Parameters:
    ///   - store: nil chooses all stores.
    ///   - order: the id of an order, to choose only the answers to it and its cancel.
    ///   - showsNotes: whether notes of the journal count as answers. They are of no store.
    init(store: String? = nil, order: String? = nil, showsNotes: Bool = false) {
        (self.store, self.order, self.showsNotes) = (store.map(Name.init), order.map(Name.init), showsNotes)
    }

    func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store, !(record.key?.elementsEqual(store.text.utf8) ?? false) { return nil }
        let answer = try? decoder.decode(value)
        if let order {
            guard let answer, answer.command != .restock, Name(answer.id) == order else { return nil }
        }
        guard answer != nil || showsNotes || !JournalNote.isNote(value) else { return nil }
        return Entry(answer: answer, bytes: Array(value), place: RecordPlace(record))
    }
}

/// Prints answers, and before an answer the revisions of its store that are missing.
final class AnswerPrinter {
    /// Revisions that no answer has, in a line with the place of the answer that shows it.
    private struct MissingRevisions: Encodable {
        let store: String
        let from, to: Int
        let message: String
    }

    /// Whether nothing was printed.
    private(set) var isEmpty = true
    private let printsJSON, findsGaps, showsChanges: Bool
    private let paint: Paint
    private var trackers: [Name: RevisionTracker] = [:]
    private var output: BatchedOutput

    /// - Parameters:
    ///   - printsJSON: whether to print the records instead of lines for people.
    ///   - findsGaps: whether all answers of a store are printed, so that missing revisions can be found.
    ///   - showsChanges: whether to print only answers that changed the stock, and how they did.
    init(
        printsJSON: Bool, findsGaps: Bool = true, showsChanges: Bool = false, paint: Paint = .forStandardOutput(),
        to output: BatchedOutput = BatchedOutput()
    ) {
        (self.printsJSON, self.findsGaps, self.showsChanges) = (printsJSON, findsGaps, showsChanges)
        (self.paint, self.output) = (paint, output)
    }

    func print(_ entry: AnswerFilter.Entry) {
        let answer = entry.answer
        let gap = findsGaps ? answer.flatMap { trackers[Name($0.store), default: RevisionTracker()].gap(before: $0) } : nil
        guard !showsChanges || answer?.revision != nil && answer?.isDuplicate == false else { return }
        isEmpty = false
        if let answer, let gap {
            let (from, to) = (gap.lowerBound, gap.upperBound)
            let message = from == to ? "revision \(from) is missing" : "revisions \(from) to \(to) are missing"
            if printsJSON {
                let missing = JSONText.line(MissingRevisions(store: answer.store, from: from, to: to, message: message))
                write(RecordLine.json(entry.place, [("missing", missing)], record: nil))
            } else {
                output.line(AnswerLine.text(time: time(of: entry), answer.store, ("missing", .red), message, paint: paint))
            }
        }
        guard printsJSON else { return output.line(line(entry)) }
        write(RecordLine.json(entry.place, record: entry.bytes, isJSON: answer != nil))
    }

    func flush() { output.flush() }

    private func write(_ json: [UInt8]) { output.write(StandardOutput.jsonLine(json)) }

    private func line(_ entry: AnswerFilter.Entry) -> String {
        if let answer = entry.answer {
            let line = AnswerLine.text(answer, time: time(of: entry), paint: paint)
            return showsChanges ? line + "  revision \(answer.revision ?? 0)\(answer.amounts)" : line
        }
        let place = "partition \(entry.place.partition) offset \(entry.place.offset)"
        guard entry.bytes.withUnsafeBytes({ JournalNote.isNote($0) }) else {
            return "(\(place) is no answer that this version knows)"
        }
        let columns = [time(of: entry), place, String(decoding: entry.bytes, as: UTF8.self).printable]
        return columns.compactMap { $0.map { paint(.faint, $0) } }.joined(separator: "  ")
    }

    private func time(of entry: AnswerFilter.Entry) -> String? { entry.place.timestamp.map(DateTime.text) }
}

extension Answer {
    /// What a juice used, and what is left of the fruits that the command changed.
    fileprivate var amounts: String {
        switch outcome {
        case .juiceMade(_, let used, let left): "  used \(used.text)  left \(left.text)".printable
        case .restocked(let left), .cancelled(_, let left): "  left \(left.text)".printable
        case .outOfStock, .rejected, .answerLost: ""
        }
    }
}
