import ArgumentParser
import Foundation
import Kafka

/// The root of the command line.
@main
struct Lab: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab", abstract: "Tortures, measures and soaks the service.",
        subcommands: [Torture.self, Bench.self, Soak.self, Fixtures.self])

    /// Parses the command line, runs the command, and ends the process with its exit status after it has reported a failure.
    static func main() {
        // A broker that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        func end(_ message: String, _ status: Int32) -> Never {
            Console.status("")
            note("lab: \(message)")
            exit(withError: ExitCode(status))
        }
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let error as ToolError {
            end(error.message, error.status)
        } catch let error as KafkaError {
            end(error.description, 70)
        } catch is Interrupted {
            end("interrupted", 130)
        } catch {
            exit(withError: error)
        }
    }
}
