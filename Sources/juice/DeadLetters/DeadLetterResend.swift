import ArgumentParser
import Foundation
import JuiceClient
import JuiceMessages
import Kafka

/// `juice dead-letters resend`.
struct DeadLetterResend: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Send dead letters again, corrected or as they are.",
        discussion: """
            Puts the record back into the topic that it came from, with its key, its value and its sender's headers, or \
            with those given here: to the partition of its store. What would only be put aside again is refused; \
            --unchecked sends it all the same. One that was cut for its size needs its --value.

            A dead letter is sent once, however often this is run and from wherever, also when it dies on the way: with \
            the record it writes a note among the dead letters, in one Kafka transaction, and only the latest of those \
            that run at the same time can commit. The note lasts as long as the letters. (An embedded broker keeps no such \
            promises.) What is sent is a command like any other: under an id that was answered already within \
            the duplicate window, it gets that answer again.

            More than one are sent only after a question or with --yes. Where some were refused the exit status is 3.

            Examples:
              juice dead-letters show 3@42 --raw > order.json       (mend it in an editor)
              juice dead-letters resend 3@42 --value order.json
              jq -c '.orderId = "pos-7-1"' order.json | juice dead-letters resend 3@42 --value -
              juice dead-letters resend 3@42 --key gangnam
              juice dead-letters resend --all --code misplaced --yes
            """
    )

    @Argument(help: ArgumentHelp("Which ones, as the list names them.", valueName: "partition@offset"))
    var positions: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: "All that were not sent again yet, of those that --code and --source choose."
    )
    var all: Bool?

    @OptionGroup var filter: LetterFilterOptions

    @Option(
        help: ArgumentHelp(
            "A file with the value to send instead, or - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var value: String?

    @Option(help: ArgumentHelp("The key to send instead: the store.", valueName: "store"))
    var key: String?

    @Flag(inversion: .prefixedNo, help: "Send also what the service would put aside again.")
    var unchecked: Bool?

    @Flag(inversion: .prefixedNo, help: "Do not ask.")
    var yes: Bool?

    @Flag(inversion: .prefixedNo, help: "Print what became of each as a line of JSON.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let chosen = try ResendChoice(positions, settings)
        let isYes = try settings.boolean(.yes)
        let resend = Resend(
            connection: try Connection(settings),
            chosen: chosen,
            isUnchecked: try settings.boolean(.unchecked),
            timeout: try settings.timeout(),
            confirm: { count throws(Failure) in
                if isYes || count == 1 { return true }
                return try Self.asks(count)
            }
        )
        let report = ResendReport(printsJSON: try settings.boolean(.json))
        let outcomes = try resend.run(show: report.show)
        report.summary(outcomes)
        if outcomes.contains(where: \.isRefused) { throw ExitCode(Failure.Status.rejected.rawValue) }
    }

    /// Asks whoever sits at the terminal.
    private static func asks(_ count: Int) throws(Failure) -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw Failure(
                .usage,
                "sending \(count) dead letters again needs --yes where nobody can be asked"
            )
        }
        StandardError.write("Send \(count) dead letters again? [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}

/// Which dead letters are to be sent again, and how.
struct ResendChoice {
    /// Nil chooses by the filter.
    let positions: Set<LetterPosition>?
    let filter: LetterFilter
    let value: [UInt8]?
    let key: [UInt8]?

    init(_ arguments: [String], _ settings: Settings) throws(Failure) {
        let isAll = try settings.boolean(.all)
        guard arguments.isEmpty == isAll else {
            throw Failure(
                .usage,
                isAll ? "--all and positions exclude each other" : "which dead letters?",
                hint: "name them as PARTITION@OFFSET, or choose with --all, --code and --source"
            )
        }
        positions =
            isAll
            ? nil : Set(try arguments.map { text throws(Failure) in try LetterPosition(argument: text) })
        filter = try LetterFilter(settings)
        guard isAll || filter.code == nil && filter.source == nil else {
            throw Failure(.usage, "--code and --source choose among --all")
        }
        let isOne = positions?.count == 1
        guard isOne || settings.string(.value) == nil && settings.string(.key) == nil else {
            throw Failure(.usage, "--value and --key are for one dead letter at a time")
        }
        value = try settings.string(.value).map { path throws(Failure) in try Self.contents(of: path) }
        key = settings.string(.key).map { Array($0.utf8) }
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let file, let data = try? file.readToEnd() ?? Data() else {
            throw Failure(.configuration, "the value's file \(path.printable) cannot be read")
        }
        // Editors and shells end a file with a new line, which is no part of a command.
        return data.last == UInt8(ascii: "\n") ? Array(data.dropLast()) : Array(data)
    }
}

/// Says what became of each dead letter.
private struct ResendReport {
    let printsJSON: Bool

    func show(_ outcome: Resend.Outcome) {
        StandardOutput.line(printsJSON ? outcome.json : outcome.text)
    }

    func summary(_ outcomes: [Resend.Outcome]) {
        guard !printsJSON, outcomes.count != 1 else { return }
        let resent = outcomes.filter(\.isResent).count
        let refused = outcomes.filter(\.isRefused).count
        StandardOutput.line(
            "resent \(resent), resent before \(outcomes.count - resent - refused), refused \(refused)"
        )
    }
}
