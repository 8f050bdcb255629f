import ArgumentParser
import Foundation
import JuiceMessages
import Kafka
import TestSupport
import Testing

@testable import juice

/// No number in an option may end the process by a trap. The test runs in a process of its own.
@Suite(.concurrencyLimited, .timeLimit(.minutes(10)))
struct ExtremeValueTests {
    private static let values = ["9223372036854775807", "-9223372036854775808", "365d", "9999-12-31"]

    /// All commands that have no subcommands, each with its names.
    private static func commands(
        of parent: any ParsableCommand.Type = JuiceCommand.self, _ names: [String] = []
    ) -> [(names: [String], type: any ParsableCommand.Type)] {
        let all = parent.configuration.subcommands
        return all.isEmpty ? [(names, parent)] : all.flatMap { commands(of: $0, names + [$0._commandName]) }
    }

    /// The run files of a process that this one starts.
    private static func directory(of parent: pid_t) -> String { NSTemporaryDirectory() + "juice-extreme-values-\(parent)" }

    /// Commands that only read, with each of their numbers, durations and times.
    @Test func commandsReadWithAnyNumber() async throws {
        // Until the process runs, it has this one's ports: see `EmbeddedBroker.ports`.
        let (isLocked, locked) = AsyncStream.makeStream(of: Void.self)
        async let hasBegun = onThread {
            EmbeddedBroker.ports.withLock {
                locked.finish()
                let (directory, limit) = (Self.directory(of: getpid()), ContinuousClock.now + .seconds(60))
                while !FileManager.default.fileExists(atPath: directory), .now < limit { usleep(1_000) }
                return ContinuousClock.now < limit
            }
        }
        for await _ in isLocked {}
        await #expect(processExitsWith: .success) {
            let directory = Self.directory(of: getppid())
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            setenv("XDG_RUNTIME_DIR", directory, 1)
            dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO)
            try await EmbeddedService.run(runFiles: .ofThisUser()) { clients in
                let client = TestClient(clients, Deadline(after: .seconds(60)))
                for id in ["a", "b"] { _ = try client.answer(.order(id: id, store: "main", juice: "kiwi")) }
                let arguments = ["show": ["a"], "dead-letters show": ["0@9223372036854775807"]]
                let reading: Set = [
                    "results", "show", "stock", "stores", "audit", "doctor", "topics check", "dead-letters list",
                    "dead-letters show",
                ]
                var runs = 0
                for (names, command) in Self.commands() where reading.contains(names.joined(separator: " ")) {
                    let options = OptionInfo.all(of: command).filter { option in
                        ["count", "number", "bytes", "duration", "time"].contains(option.value.valueName)
                    }
                    for (option, value) in options.keys.flatMap({ name in Self.values.map { (name, $0) } })
                    where option != "timeout" {
                        let line = names + (arguments[names.joined(separator: " ")] ?? []) + ["--\(option)=\(value)"]
                        guard var command = try? JuiceCommand.parseAsRoot(line) else { continue }
                        do { try command.run() } catch {
                            #expect(![.software, .unavailable].contains(failure(error)?.status), "\(line): \(error)")
                        }
                        runs += 1
                    }
                }
                #expect(runs > 10)
            }
        }
        #expect(try await hasBegun)
    }
}
