import ArgumentParser
import JuiceMessages
import Kafka

/// `juice dead-letters`: shows the records that could not be processed, and resends them.
struct DeadLettersCommand: ParsableCommand {
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

struct LetterFilterOptions: ParsableArguments {
    @Option(
        .code, value: "code", help: "Only those put aside for this reason, such as notJSON.",
        completion: .list(DeadLetterReason.allCases.map(\.code))) var code: String?

    @Option(
        .source, value: "orders|restocks", help: "Only those that came from this topic.",
        completion: .list(["orders", "restocks"])) var source: String?
}

extension Settings {
    /// Whether a dead letter is one that `--code` and `--source` name.
    func letterFilter() throws(Failure) -> (DeadLetter) -> Bool {
        let codes = DeadLetterReason.allCases.map(\.code)
        let topics = TopicNames(prefix: try self[.topicPrefix])
        let code = try value(.code, "one of \(codes.joined(separator: ", "))") { codes.contains($0) ? $0 : nil }
        let source = try value(.source, "orders or restocks") { text in
            switch text {
            case "orders", topics.orders: topics.orders
            case "restocks", topics.restocks: topics.restocks
            default: nil
            }
        }
        return { (code == nil || $0.code == code) && (source == nil || $0.source.topic == source) }
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

    @Flag(inversion: .prefixedNo, help: "Only those that were not resent.") var pending: Bool?
    @Option(.last, value: "count", help: "How many of the last ones to show. (default: 50)") var last: Int?
    @Flag(inversion: .prefixedNo, help: "Also print new ones as they arrive.") var follow: Bool?
    @Flag(inversion: .prefixedNo, help: "Print each in full, as a line of JSON.") var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let isMeant = try settings.letterFilter()
        let isPendingOnly = try settings[.pending]
        let last = try settings.integer(.last, in: 0...1_000_000) ?? 50
        let printsJSON = try settings[.json]
        let interruption = try settings[.follow] ? StopSignal.onInterruption() : nil

        let reader = try DeadLetterReader(KafkaClients(settings).watching(settings), timeout: settings[.timeout])
        let letters = try reader.last(last) { isMeant($0) && !(isPendingOnly && $0.isResent) }
        Self.show(letters, asJSON: printsJSON, withTitles: true)
        guard let interruption else {
            if letters.isEmpty, !printsJSON { StandardError.write("no dead letters\n") }
            return
        }
        try reader.follow(until: interruption) { Self.show($0.filter(isMeant), asJSON: printsJSON, withTitles: false) }
    }

    private static func show(_ letters: [DeadLetter], asJSON: Bool, withTitles: Bool) {
        guard !letters.isEmpty else { return }
        guard !asJSON else { return StandardOutput.write(Array(letters.map(\.json).joined())) }
        let lines = DeadLetter.table(letters).lines(
            paint: .forStandardOutput(), fitting: LiveTerminal.columns, withTitles: withTitles)
        StandardOutput.line(lines.joined(separator: "\n"))
    }
}

/// `juice dead-letters show`.
struct DeadLetterShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one dead letter in full.",
        discussion: """
            Shows its headers, its key and its value, as text or in hexadecimal digits. With --raw it writes only the bytes of \
            the value.

            Examples:
              juice dead-letters show 3@42
              juice dead-letters show 3@42 --raw > order.json
            """
    )

    @Argument(help: ArgumentHelp("The position, as in the list.", valueName: "partition@offset")) var position: String
    @Flag(inversion: .prefixedNo, help: "Write only the bytes of the value.") var raw: Bool?
    @Flag(inversion: .prefixedNo, help: "Print it as a line of JSON.") var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let position = try LetterPosition(argument: position)
        let (isRaw, printsJSON) = (try settings[.raw], try settings[.json])
        let reader = try DeadLetterReader(KafkaClients(settings), timeout: settings[.timeout])
        guard let letter = try reader.at([position]).letters.first else { throw reader.missing(position) }
        if isRaw {
            StandardOutput.write(letter.value ?? [])
        } else if printsJSON {
            StandardOutput.write(letter.json)
        } else {
            StandardOutput.write(letter.sheet(paint: .forStandardOutput()))
        }
    }
}
