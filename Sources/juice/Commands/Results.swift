import ArgumentParser
import JuiceDomain
import JuiceMessages
import Kafka

struct ResultsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results", abstract: "Show the service's answers.",
        discussion: """
            Prints all answers in the order of time, or with --last the last ones. With --follow it prints new answers as they \
            arrive, until Ctrl-C. The revisions of a store have no gaps: if one is missing, that is shown in its place. With \
            --changes it shows how a store's stock came to be: the answers that changed it, each with its revision, what it used \
            and what is left.

            Between the answers the service writes notes: which records it forwarded or moved to the dead letters, how far it \
            has read, and who owns a partition. They are of no store, and shown only with --notes.

            \(TimeText.help)

            Examples:
              juice results --last 20
              juice results --follow --store gangnam
              juice results --since 12:00 --until 12:30
              juice results --order-id pos-7-000123
              juice results --changes --store gangnam --since 2h
              juice results --json | jq -r .record.message
              juice results --notes --json | jq -c 'select(.record.type == "claim")'
            """
    )

    @Flag("Print new answers as they arrive.") var follow = false
    @Option("Only this store.", .store) var store: String?
    @Option("Only answers to commands with this id.", .commandID) var orderId: String?
    @Option("Start with this many of the last answers.", .number(in: 0 ... .max)) var last: Int?
    @OptionGroup var period: PeriodOptions
    @Flag("Only answers that changed the stock.") var changes = false
    @Flag("Also print the service's notes.") var notes = false
    @Flag("Print each record as a line of JSON, with its time, partition and offset.") var json = false
    @OptionGroup var client: ClientOptions

    func run() throws {
        let period = try period.period()
        guard !follow || period.upperBound == TopicReader.always.upperBound else {
            throw Failure(.usage, "--follow and --until exclude each other")
        }
        let filter = AnswerFilter(store: store, id: orderId, showsNotes: notes, showsOnlyChanges: changes)
        let printer = AnswerPrinter(filter, printsJSON: json)
        defer { printer.flush() }
        let clients = try KafkaClients(client)
        let reader = try TopicReader(clients, topic: clients.topics.results, of: store)
        if let last {
            try reader.last(last, in: period, filter.entry).forEach(printer.print)
        } else if !follow || period != TopicReader.always {
            try reader.read(in: period, filter.entry, printer.print)
        }
        guard follow else {
            if printer.isEmpty { StandardError.write(changes ? "no changes\n" : "no answers\n") }
            return
        }
        printer.flush()
        try reader.follow(filter.entry) { entries in
            entries.forEach(printer.print)
            printer.flush()
        }
    }
}

/// Prints answers. Before an answer it reports missing revisions of the answer's store.
final class AnswerPrinter {
    private(set) var isEmpty = true
    private let filter: AnswerFilter
    private let printsJSON: Bool
    private var trackers: [Name: RevisionTracker] = [:]
    /// One write per line would dominate the cost.
    private var buffer: [UInt8] = []
    private var rows: [[Table.Cell]] = []
    private var columns: TableColumns
    private let output: ([UInt8]) -> Void

    init(
        _ filter: AnswerFilter, printsJSON: Bool, paint: Paint = .forStandardOutput(),
        to output: @escaping ([UInt8]) -> Void = StandardOutput.write
    ) {
        (self.filter, self.printsJSON, columns, self.output) = (filter, printsJSON, TableColumns(paint: paint), output)
    }

    func print(_ entry: AnswerFilter.Entry) {
        defer { if buffer.count > 65_536 || rows.count > 500 { flush() } }
        let answer = entry.answer
        // Among the answers to one id, gaps in a store's revisions are normal.
        let gap = filter.id == nil ? answer.flatMap { trackers[Name($0.store), default: RevisionTracker()].gap(before: $0) } : nil
        isEmpty = false
        let time = Table.Cell(entry.place.timestamp.map(DateTime.text) ?? "-", .faint)
        if let answer, let gap {
            let (from, to) = (gap.lowerBound, gap.upperBound)
            let message = from == to ? "revision \(from) is missing" : "revisions \(from) to \(to) are missing"
            if printsJSON {
                let store = JSONText.line(answer.store)
                let missing = #"{"from":\#(from),"message":"\#(message)","store":\#(store),"to":\#(to)}"#
                buffer += StandardOutput.jsonLine(RecordLine.json(entry.place, [("missing", missing)], record: nil))
            } else {
                rows.append([time, .init(StoreID.visible(answer.store)), .init("missing", .red), .init(""), .init(message)])
            }
        }
        let place = "partition \(entry.place.partition) offset \(entry.place.offset)"
        if printsJSON {
            buffer += StandardOutput.jsonLine(RecordLine.json(entry.place, record: entry.bytes, isJSON: answer != nil))
        } else if let answer {
            let change = filter.showsOnlyChanges ? [Table.Cell("revision \(answer.revision ?? 0)\(answer.amounts)")] : []
            rows.append([time] + AnswerCells.of(answer) + change)
        } else {
            let note = "\(place)  \(String(decoding: entry.bytes, as: UTF8.self).printable)"
            rows.append([time, .init(entry.isNote ? note : "(\(place) is no answer that this version knows)", .faint)])
        }
    }

    func flush() {
        buffer += Array(columns.lines(rows).map { $0 + "\n" }.joined().utf8)
        rows = []
        if !buffer.isEmpty { output(buffer) }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension Answer {
    /// The fruits that a juice used, and the levels left of those that the command changed.
    fileprivate var amounts: String {
        let used = if case .juiceMade(_, let used, _) = outcome { "  used \(used.text)" } else { "" }
        return "\(used)  left \(outcome.left.text)".printable
    }
}
