import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

/// `juice results`: shows the answers.
struct ResultsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results", abstract: "Show the service's answers.",
        discussion: """
            Prints all answers, or with --last the last ones. With --follow it prints new answers as they arrive, until \
            Ctrl-C. The revisions of a store have no gaps: if one is missing, that is shown in its place.

            Between the answers the service writes notes: what it forwarded or put aside, how far it has read, and who \
            owns a partition. They are of no store, and shown only with --notes.

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --json | jq -r .message
              juice results --notes --json | jq -c 'select(.type == "claim")'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print new answers as they arrive.") var follow: Bool?
    @Option(.store, value: "store", help: "Only this store.") var store: String?
    @Option(.last, value: "count", help: "Start with this many of the last answers.") var last: Int?
    @Flag(inversion: .prefixedNo, help: "Also print the service's notes.") var notes: Bool?
    @Flag(inversion: .prefixedNo, help: "Print each record unchanged, and missing revisions as objects, one per line.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let last = try settings[.last]
        let printer = AnswerPrinter(ResultsFormat(paint: .forStandardOutput()), printsJSON: try settings[.json])
        defer { printer.flush() }
        let interruption = try settings[.follow] ? StopSignal.onInterruption() : nil
        let reader = try ResultsReader(
            KafkaClients(settings), store: settings[.store], showsNotes: settings[.notes], timeout: settings[.timeout])
        if let last {
            try reader.last(last).forEach(printer.print)
        } else if interruption == nil {
            try reader.readAll(printer.print)
        }
        guard let interruption else { return }
        try reader.follow(until: interruption) { entries in
            entries.forEach(printer.print)
            printer.flush()
        }
    }
}

/// Reads the answers of all stores, or of one, from the results topic.
struct ResultsReader {
    /// A record of the topic. The answer is nil for a note of the journal, and if this version cannot decode it.
    struct Entry {
        let answer: Answer?
        let bytes: [UInt8]
        /// Milliseconds since 1970.
        let timestamp: Int64?
        let partition: Int32
        let offset: Offset
    }

    private let reader: TopicReader
    private let decoder = AnswerDecoder()
    private let store: String?
    private let showsNotes: Bool

    /// - Parameters:
    ///   - store: nil reads all stores.
    ///   - showsNotes: whether notes of the journal count as answers. They are of no store.
    init(_ clients: KafkaClients, store: String?, showsNotes: Bool = false, timeout: Duration) throws(Failure) {
        reader = try TopicReader(clients, topic: clients.topics.results, of: store, timeout: timeout)
        (self.store, self.showsNotes) = (store, showsNotes)
    }

    /// See ``TopicReader/readAll(since:_:)``.
    func readAll(since time: Int64? = nil, _ body: (Entry) -> Void) throws(Failure) {
        try reader.readAll(since: time) { record in if let entry = entry(record) { body(entry) } }
    }

    /// The last answers, oldest first.
    func last(_ count: Int) throws(Failure) -> [Entry] {
        try reader.last(count) { window throws(Failure) in
            var found: [Entry] = []
            try reader.read(window) { record in if let entry = entry(record) { found.append(entry) } }
            return Self.sorted(found)
        }
    }

    func follow(until stop: StopSignal, show: ([Entry]) -> Void) throws(Failure) {
        try reader.follow(until: stop, entry, show: show)
    }

    private func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store, !(record.key?.elementsEqual(store.utf8) ?? false) { return nil }
        let answer = try? decoder.decode(value)
        guard answer != nil || showsNotes || !JournalNote.isNote(value) else { return nil }
        return Entry(
            answer: answer, bytes: Array(value), timestamp: record.timestamp, partition: record.partition, offset: record.offset)
    }

    /// By time, and within a partition by offset: clocks may differ, but the order of a store's answers must stay.
    private static func sorted(_ entries: [Entry]) -> [Entry] {
        var latest: [Int32: Int64] = [:]
        let timed = entries.map { entry in
            let time = max(entry.timestamp ?? 0, latest[entry.partition] ?? 0)
            latest[entry.partition] = time
            return (key: (time, entry.partition, entry.offset), entry: entry)
        }
        return timed.sorted { $0.key < $1.key }.map(\.entry)
    }
}

/// What ``AnswerPrinter`` prints for people.
protocol AnswerFormat {
    /// Whether the entry is printed at all.
    func shows(_ entry: ResultsReader.Entry) -> Bool

    func line(_ entry: ResultsReader.Entry) -> String

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String
}

/// Prints answers, and before an answer the revisions of its store that are missing.
final class AnswerPrinter {
    /// Whether nothing was printed.
    private(set) var isEmpty = true
    private let format: any AnswerFormat
    private let printsJSON: Bool
    private var trackers: [Name: RevisionTracker] = [:]
    private var output: BatchedOutput

    /// - Parameter printsJSON: whether to print the records instead of the format's lines.
    init(_ format: any AnswerFormat, printsJSON: Bool, to output: BatchedOutput = BatchedOutput()) {
        (self.format, self.printsJSON, self.output) = (format, printsJSON, output)
    }

    func print(_ entry: ResultsReader.Entry) {
        let missing = entry.answer.flatMap { answer in
            trackers[Name(answer.store), default: RevisionTracker()].gap(before: answer).map {
                MissingRevisions(of: answer.store, $0)
            }
        }
        guard format.shows(entry) else { return }
        isEmpty = false
        if let missing { output.line(printsJSON ? JSONText.line(missing) : format.line(missing, before: entry)) }
        printsJSON ? output.write(StandardOutput.jsonLine(entry.bytes)) : output.line(format.line(entry))
    }

    func flush() { output.flush() }
}

/// Revisions of a store that no answer has. As JSON, an object among those of answers.
struct MissingRevisions: Encodable {
    let type = "revisionsMissing"
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

    func shows(_ entry: ResultsReader.Entry) -> Bool { true }

    func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer else {
            let place = "partition \(entry.partition) offset \(entry.offset)"
            guard entry.bytes.withUnsafeBytes({ JournalNote.isNote($0) }) else {
                return "(\(place) is no answer that this version knows)"
            }
            let columns = [time(of: entry), place, String(decoding: entry.bytes, as: UTF8.self).printable]
            return columns.compactMap { $0.map { paint(.faint, $0) } }.joined(separator: "  ")
        }
        return AnswerLine.text(answer, time: time(of: entry), paint: paint)
    }

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let columns = [
            time(of: entry).map { paint(.faint, $0) }, DisplayWidth.pad(StoreID.visible(missing.store), to: 12),
            paint(.red, DisplayWidth.pad("missing", to: 12)), missing.message,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    private func time(of entry: ResultsReader.Entry) -> String? {
        entry.timestamp.map { ClockTime.of(secondsSince1970: Int($0 / 1000)) }
    }
}
