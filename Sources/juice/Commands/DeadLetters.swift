import ArgumentParser
import JuiceMessages
import Kafka

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Show the records that could not be answered, or send them again.",
        discussion: """
            A record becomes a dead letter if it is no command (not JSON, without an id, or too large), or if the broker \
            accepts neither its answer nor its forwarded copy. A dead letter is named by its position in the topic, \
            PARTITION@OFFSET.

            Examples:
              juice dead-letters list --code notJSON
              juice dead-letters show 3@42
              juice dead-letters resend 3@42 --value corrected.json
            """,
        subcommands: [DeadLetterList.self, DeadLetterShow.self, DeadLetterResend.self]
    )
}

struct DeadLetterChoice: ParsableArguments {
    @Option("Only those with this reason, such as notJSON.", .deadLetterCode) var code: String?
    @OptionGroup var period: PeriodOptions

    var isGiven: Bool { code != nil || period.since != nil || period.until != nil }

    func test() throws(Failure) -> (DeadLetter) -> Bool {
        let period = try period.period()
        return { (code == nil || $0.code == code) && period.contains($0.timestamp ?? 0) }
    }
}

extension OptionValue<String> {
    static var deadLetterCode: Self {
        let codes = DeadLetterReason.allCases.map(\.code)
        return Self("code", "one of \(codes.joined(separator: ", "))") { codes.contains($0) ? $0 : nil }
    }
}

extension OptionValue<RecordPosition> {
    static var recordPosition: Self {
        Self("partition@offset", "PARTITION@OFFSET, such as 3@42: `juice dead-letters list` shows the positions") {
            RecordPosition($0)
        }
    }
}

struct DeadLetterList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List dead letters, the latest last.",
        discussion: """
            Shows the position, time, store, reason and source of each one, whether it was resent, and the start of its value. \
            \(TimeText.help)

            Examples:
              juice dead-letters list
              juice dead-letters list --pending --code misplaced --last 200
              juice dead-letters list --since 02:00 --until 02:30
              juice dead-letters list --json | jq -r 'select(.code == "notJSON") | .value'
            """
    )

    @OptionGroup var choice: DeadLetterChoice
    @Flag("Only those that were not resent.") var pending = false
    @Option("How many of the last ones to show.", .number(in: 0...1_000_000)) var last = 50
    @Flag("Print each in full, as a line of JSON.") var json = false
    @OptionGroup var client: ClientOptions

    func run() throws {
        let isMeant = try choice.test()
        let letters = try DeadLetterReader(KafkaClients(client)).last(last) { isMeant($0) && !(pending && $0.isResent) }
        if json { return StandardOutput.jsonLines(letters.map(\.json)) }
        guard !letters.isEmpty else { return StandardError.write("no dead letters\n") }
        DeadLetter.table(letters).print()
    }
}

struct DeadLetterShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one dead letter in full.",
        discussion: """
            Shows its headers, its key and its value as JSON: text, or base64 if it is not UTF-8. With --raw it writes only the \
            bytes of the value. Exit status: 0 found, 1 not found, 64 usage, 69 no broker.

            Examples:
              juice dead-letters show 3@42
              juice dead-letters show 3@42 --raw > order.json
            """
    )

    @Argument(
        help: ArgumentHelp("The position, as in the list.", valueName: "partition@offset"),
        transform: OptionValue.recordPosition.value)
    var position: RecordPosition
    @Flag("Write only the bytes of the value.") var raw = false
    @Flag("Print it as a line of JSON.") var json = false
    @OptionGroup var client: ClientOptions

    func run() throws {
        for letter in try DeadLetterReader(KafkaClients(client)).at([position]) {
            if raw {
                StandardOutput.write(letter.value ?? [])
            } else if json {
                StandardOutput.jsonLines([letter.json])
            } else {
                StandardOutput.write(letter.sheet(paint: .forStandardOutput()))
            }
        }
    }
}
