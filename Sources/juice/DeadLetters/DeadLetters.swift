import ArgumentParser
import JuiceMessages
import Kafka

/// `juice dead-letters`: shows the records that could not be processed, and resends them.
struct DeadLetters: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Show the records that could not be answered, or send them again.",
        discussion: """
            The service puts records aside that are not commands (they are not JSON, have no id or are too large), and \
            commands that the broker lets it neither answer nor forward. A dead letter is named by its position in the \
            topic, PARTITION@OFFSET.

            Examples:
              juice dead-letters list --code notJSON
              juice dead-letters show 3@42
              juice dead-letters resend 3@42 --value corrected.json
            """,
        subcommands: [DeadLetterList.self, DeadLetterShow.self, DeadLetterResend.self]
    )
}

/// The options that select dead letters.
struct LetterFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only those put aside for this reason, such as notJSON.", valueName: "code"),
        completion: .list(DeadLetterReason.allCases.map(\.code))) var code: String?

    @Option(
        help: ArgumentHelp("Only those that came from this topic.", valueName: "orders|restocks"),
        completion: .list(["orders", "restocks"])) var source: String?
}

extension LetterFilter {
    init(_ settings: Settings) throws(Failure) {
        let codes = DeadLetterReason.allCases.map(\.code)
        let topics = settings.topics()
        code = try settings.value(.code, "one of \(codes.joined(separator: ", "))") { codes.contains($0) ? $0 : nil }
        source = try settings.value(.source, "orders or restocks") { text in
            switch text {
            case "orders", topics.orders: topics.orders
            case "restocks", topics.restocks: topics.restocks
            default: nil
            }
        }
    }
}

/// `juice dead-letters list`.
struct DeadLetterList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List dead letters, the latest last.",
        discussion: """
            Shows the position, time, store, reason and source of each one, whether it was resent, and the start of its \
            value. With --follow it also prints new ones, until Ctrl-C.

            Examples:
              juice dead-letters list
              juice dead-letters list --pending --source orders --last 200
              juice dead-letters list --follow
              juice dead-letters list --json | jq -r 'select(.code == "notJSON") | .value'
            """
    )

    @OptionGroup var filter: LetterFilterOptions

    @Flag(inversion: .prefixedNo, help: "Only those that were not resent.")
    var pending: Bool?

    @Option(help: ArgumentHelp("How many of the last ones to show. (default: 50)", valueName: "count"))
    var last: Int?

    @Flag(inversion: .prefixedNo, help: "Also print new ones as they arrive.")
    var follow: Bool?

    @Flag(inversion: .prefixedNo, help: "Print each in full, as a line of JSON.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let filter = try LetterFilter(settings)
        let isPendingOnly = try settings.boolean(.pending)
        let last = try settings.integer(.last, in: 0...1_000_000) ?? 50
        let timeout = try settings.timeout()
        let printer = LetterPrinter(printsJSON: try settings.boolean(.json))
        let interruption = try settings.boolean(.follow) ? StopSignal.onInterruption() : nil

        let reader = try DeadLetterReader(Connection(settings), deadline: Deadline(after: timeout))
        var found = try reader.last(last, idleTimeout: timeout) { letter, isResent in
            filter.matches(letter) && !(isPendingOnly && isResent)
        }
        printer.print(found, titles: .shown)
        guard let interruption else {
            if found.letters.isEmpty, !printer.printsJSON { StandardError.write("no dead letters\n") }
            return
        }
        try reader.startFollowing()
        while !interruption.isRequested {
            // These are printed. It still knows them, if one comes again.
            found.keep { _ in false }
            try reader.follow(timeout: .milliseconds(100)) { found.add($0, where: filter.matches) }
            printer.print(found, titles: .hidden)
        }
    }
}

private struct LetterPrinter {
    enum Titles { case shown, hidden }

    let printsJSON: Bool
    let paint = Paint.forStandardOutput()

    func print(_ found: DeadLetterReader.Letters, titles: Titles) {
        guard !found.letters.isEmpty else { return }
        guard !printsJSON else {
            return found.letters.forEach {
                let isResent = found.resent.contains($0.position)
                StandardOutput.line(JSONText.line(DeadLetterJSON($0, isResent: isResent)))
            }
        }
        let lines = DeadLetterTable.lines(found.letters, resent: found.resent, paint: paint)
        let columns = StandardOutput.isTerminal ? LiveTerminal.size.columns : Int.max
        for line in titles == .shown ? lines[...] : lines.dropFirst() {
            StandardOutput.line(columns == .max ? line : ANSI.clip(line, to: columns))
        }
    }
}

/// `juice dead-letters show`.
struct DeadLetterShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one dead letter in full.",
        discussion: """
            Shows its headers, its key and its value, as text or as a hex dump. With --raw it writes only the bytes of \
            the value.

            Examples:
              juice dead-letters show 3@42
              juice dead-letters show 3@42 --raw > order.json
            """
    )

    @Argument(help: ArgumentHelp("The position, as in the list.", valueName: "partition@offset"))
    var position: String

    @Flag(inversion: .prefixedNo, help: "Write only the bytes of the value.")
    var raw: Bool?

    @Flag(inversion: .prefixedNo, help: "Print it as a line of JSON.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let position = try LetterPosition(argument: position)
        let timeout = try settings.timeout()
        let (isRaw, printsJSON) = (try settings.boolean(.raw), try settings.boolean(.json))

        let reader = try DeadLetterReader(Connection(settings), deadline: Deadline(after: timeout))
        let found = try reader.at([position], idleTimeout: timeout)
        guard let letter = found.letters.first else { throw reader.missing(position) }
        let isResent = found.resent.contains(letter.position)
        if isRaw {
            StandardOutput.write(letter.value ?? [])
        } else if printsJSON {
            StandardOutput.line(JSONText.line(DeadLetterJSON(letter, isResent: isResent)))
        } else {
            StandardOutput.write(DeadLetterTable.sheet(letter, isResent: isResent, paint: .forStandardOutput()))
        }
    }
}

extension LetterPosition {
    /// Parses a position on the command line.
    init(argument: String) throws(Failure) {
        guard let position = LetterPosition(argument) else {
            throw Failure(
                .usage, "\"\(argument.printable)\" is not PARTITION@OFFSET, such as 3@42",
                hint: "`juice dead-letters list` shows the positions")
        }
        self = position
    }
}

extension DeadLetterReader {
    /// The failure for a position without a dead letter.
    func missing(_ position: LetterPosition) -> Failure {
        var hint = "`juice dead-letters list` shows the positions"
        if let range = range(of: position.partition), position.offset < range.lowerBound {
            hint = "records before offset \(range.lowerBound) are no longer retained"
        }
        return Failure(.usage, "there is no dead letter at \(position.text)", hint: hint)
    }
}
