import ArgumentParser
import Foundation
import Kafka

@main
struct JuiceCommand: AsyncParsableCommand {
    /// The version of Juice Maker, the same as in CHANGELOG.md.
    static let currentVersion = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "juice", abstract: "Makes juice to order: a Kafka service and the tools to talk to it.",
        discussion: """
            The service reads commands to stores from Kafka topics and gives each exactly one answer.

            Try it, without any Kafka, in two terminals:
              juice serve
              juice order mangoKiwi --wait

            or all of it in one:
              juice demo

            Every option can also be set in the environment, as JUICE_ and its name in capitals \
            (JUICE_BOOTSTRAP_SERVERS), and in a JSON file under its name ("bootstrap-servers") that --config or \
            JUICE_CONFIG names. An option wins over the environment, the environment over the file.

            A duration has units: ms, s, m, h and d, as in 500ms, 30s or 1h30m. A bare number is refused.

            Shells complete it with the script that --generate-completion-script bash, zsh or fish prints.

            Exit status: 0 done, 1 not found, or an audit or the doctor found something, 2 out of stock, 3 rejected, \
            64 usage, 69 no broker or no answer, 70 failed, 74 standard output cannot be written, 75 a file or an address was \
            still missing after a minute, 78 bad configuration or topics. Ctrl-C, SIGTERM and SIGHUP end any command, with 130, \
            143 or 129; serve and kiosk then finish what they are doing, and end with 0. Only these two wait for files and \
            addresses, when they start.
            """,
        version: "\(Self.currentVersion) (librdkafka \(KafkaLibrary.version))",
        subcommands: [
            ServeCommand.self, ConfigCommand.self, DemoCommand.self, OrderCommand.self, CancelCommand.self, RestockCommand.self,
            StockCommand.self, StoresCommand.self, ResultsCommand.self, ShowCommand.self, AuditCommand.self, DoctorCommand.self,
            TopicsCommand.self, AnchorCommand.self, DeadLettersCommand.self, MenuCommand.self, KioskCommand.self,
            TrafficCommand.self,
        ]
    )

    /// Runs the command on the main thread, where blocking calls do not block Swift's cooperative threads.
    @MainActor
    static func main() async {
        StandardOutput.reserveStandardStreams()
        EndingSignals.handle()
        var settings: Settings?
        do {
            try checkEncoding()
            let completed = try Settings(Array(CommandLine.arguments.dropFirst()))
            settings = completed
            tzset()
            var command = try parseAsRoot(completed.arguments)
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch { end(with: error, settings) }
    }

    /// Refuses text that is not UTF-8. Swift would replace the invalid bytes, and a store with another name is another store.
    private static func checkEncoding() throws(Failure) {
        func isUTF8(_ text: UnsafePointer<CChar>?) -> Bool { text.flatMap { String(validatingCString: $0) } != nil }
        for (number, argument) in CommandLine.arguments.enumerated() where !isUTF8(CommandLine.unsafeArgv[number]) {
            throw Failure(.usage, "the argument \"\(argument)\" is not UTF-8")
        }
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("JUICE_") && !isUTF8(getenv(name)) {
            throw Failure(.configuration, "\(name) in the environment is not UTF-8")
        }
    }

    /// The command that a command line names, and the number of arguments that name it.
    ///
    /// - Throws: ``Failure`` for an unknown command, which ArgumentParser calls an unexpected argument or, after `help`, ignores.
    static func find(in arguments: [String]) throws(Failure) -> (command: any ParsableCommand.Type, depth: Int) {
        let isHelp = arguments.first == "help"
        var found: (command: any ParsableCommand.Type, depth: Int) = (Self.self, isHelp ? 1 : 0)
        for name in arguments.dropFirst(found.depth) {
            let known = found.command.configuration.subcommands
            if name.hasPrefix("-") || known.isEmpty && !isHelp { break }
            guard let next = known.first(where: { $0._commandName == name }) else {
                let question = NearestNames.question(NearestNames.of(name, among: known.map { $0._commandName }))
                throw Failure(.usage, "there is no command \"\(name)\"\(question)", hint: "See 'juice --help'.")
            }
            found = (next, found.depth + 1)
        }
        return found
    }

    private static func end(with error: any Error, _ settings: Settings?) -> Never {
        let failure = error as? Failure ?? Self.failure(of: error, settings)
        StandardError.write(lastWords(failure, settings), isLast: true)
        exit(withError: ExitCode(failure.status.rawValue))
    }

    /// The failure for an error of ArgumentParser or one that nobody expects. Ends the process after a help text.
    private static func failure(of error: any Error, _ settings: Settings?) -> Failure {
        let (code, text) = (exitCode(for: error), fullMessage(for: error))
        if code == .success, !text.isEmpty { StandardOutput.line(text) }
        if code == .success || error is ExitCode { exit(withError: code) }
        guard code == .validationFailure else { return Failure(.software, "\(error)") }
        // The text ends with the command that prints the help.
        let hint = text.split(separator: "\n").last { $0.contains("--help") }?.trimmingCharacters(in: .whitespaces)
        let message = message(for: error)
        return settings?.failure(message, hint: hint) ?? Failure(.usage, message, hint: hint)
    }

    /// The failure in the log's format, so that a program that reads the log as JSON can also read its end.
    static func lastWords(_ failure: Failure, _ settings: Settings?) -> String {
        let format = settings?.entries.first { $0.name == "log-format" }?.value
        guard format?.lowercased() == LogFormat.json.rawValue else { return failure.report }
        return LineLogHandler.line(.json, time: .now, .critical, failure.message, ["hint": "\(failure.hint ?? "")"]) + "\n"
    }
}
