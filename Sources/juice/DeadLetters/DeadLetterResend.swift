import ArgumentParser
import Foundation
import JuiceMessages
import Kafka

/// `juice dead-letters resend`.
struct DeadLetterResend: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend", abstract: "Send dead letters again, corrected or as they are.",
        discussion: """
            Writes the record back to its original topic, to the partition of its store, with the sender's headers and \
            with its own key and value or those given here. A record that would become a dead letter again is refused, \
            unless --unchecked is given. A truncated one needs --value.

            A dead letter is sent once, however often and wherever this command runs, and even if it dies: it writes the \
            record and a note in the dead-letter topic in one Kafka transaction, and of several runs at the same time \
            only the latest can commit. The note is retained as long as the letters. (An embedded broker does not give \
            these guarantees.) A resent record is an ordinary command: if its id was already answered within the \
            duplicate window, it gets that answer again.

            More than one letter is sent only after confirmation or with --yes. The exit status is 3 if any was refused.

            Examples:
              juice dead-letters show 3@42 --raw > order.json       (then edit the file)
              juice dead-letters resend 3@42 --value order.json
              jq -c '.orderId = "pos-7-1"' order.json | juice dead-letters resend 3@42 --value -
              juice dead-letters resend 3@42 --key gangnam
              juice dead-letters resend --all --code misplaced --yes
            """
    )

    @Argument(help: ArgumentHelp("The positions, as in the list.", valueName: "partition@offset"))
    var positions: [String] = []

    @Flag(inversion: .prefixedNo, help: "Send all that were not resent yet and match --code and --source.") var all: Bool?

    @OptionGroup var filter: LetterFilterOptions

    @Option(
        help: ArgumentHelp("A file with the value to send instead, or - for standard input.", valueName: "file"),
        completion: .file()) var value: String?

    @Option(help: ArgumentHelp("The key to send instead: the store.", valueName: "store"))
    var key: String?

    @Flag(inversion: .prefixedNo, help: "Also send records that would become dead letters again.")
    var unchecked: Bool?

    @Flag(inversion: .prefixedNo, help: "Do not ask for confirmation.")
    var yes: Bool?

    @Flag(inversion: .prefixedNo, help: "Print each outcome as a line of JSON.")
    var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let chosen = try ResendChoice(positions, settings)
        let isYes = try settings.boolean(.yes)
        let resend = Resend(
            connection: try Connection(settings), chosen: chosen, isUnchecked: try settings.boolean(.unchecked),
            timeout: try settings.timeout(),
            confirm: { count throws(Failure) in
                if isYes || count == 1 { return true }
                return try Self.asks(count)
            })
        let report = ResendReport(printsJSON: try settings.boolean(.json))
        let outcomes = try resend.run(show: report.show)
        report.summary(outcomes)
        if outcomes.contains(where: \.isRefused) { throw ExitCode(Failure.Status.rejected.rawValue) }
    }

    /// Asks the user on the terminal.
    private static func asks(_ count: Int) throws(Failure) -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw Failure(.usage, "sending \(count) dead letters again needs --yes without a terminal")
        }
        StandardError.write("Send \(count) dead letters again? [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}

/// Which dead letters to resend, and with which key and value.
struct ResendChoice {
    /// Nil selects by the filter.
    let positions: Set<LetterPosition>?
    let filter: LetterFilter
    let value: [UInt8]?
    let key: [UInt8]?

    init(_ arguments: [String], _ settings: Settings) throws(Failure) {
        let isAll = try settings.boolean(.all)
        guard arguments.isEmpty == isAll else {
            throw Failure(
                .usage, isAll ? "--all and positions exclude each other" : "which dead letters?",
                hint: "name them as PARTITION@OFFSET, or choose with --all, --code and --source")
        }
        positions = isAll ? nil : Set(try arguments.map { text throws(Failure) in try LetterPosition(argument: text) })
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
        // Editors and shells end a file with a line feed, which is not part of the command.
        return data.last == UInt8(ascii: "\n") ? Array(data.dropLast()) : Array(data)
    }
}

/// Prints the outcome of each dead letter.
private struct ResendReport {
    let printsJSON: Bool

    func show(_ outcome: Resend.Outcome) {
        StandardOutput.line(printsJSON ? outcome.json : outcome.text)
    }

    func summary(_ outcomes: [Resend.Outcome]) {
        guard !printsJSON, outcomes.count != 1 else { return }
        let resent = outcomes.filter(\.isResent).count
        let refused = outcomes.filter(\.isRefused).count
        StandardOutput.line("resent \(resent), resent before \(outcomes.count - resent - refused), refused \(refused)")
    }
}
