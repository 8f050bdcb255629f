import ArgumentParser
import Foundation
import Hummingbird
import JuiceMessages
import JuiceWeb
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import JuiceService
@testable import juice

@Suite(.serialized, .onOwnThread) struct CommandLineTests {
    /// Without what a shell does around them.
    @Test func everyCommandUnderstandsItsExamples() throws {
        func expectExamples(_ command: any ParsableCommand.Type) throws {
            let lines = command.configuration.discussion.components(separatedBy: "Examples:\n").dropFirst().joined()
            let examples = lines.matches(of: /(?m)^  .*?\bjuice ([^|>(\n]+)/).map { String($0.1) }
            #expect(!examples.isEmpty, "\(command)")
            for example in examples {
                let words = example.matches(of: /"([^"]*)"|[^ "]+/).map { String($0.1 ?? $0.0) }
                // Not from the root: that takes three times as long.
                #expect(throws: Never.self, "juice \(example)") {
                    let found = try JuiceCommand.find(in: words)
                    _ = try found.command.parse(Array(words.dropFirst(found.depth)))
                }
            }
            try command.configuration.subcommands.forEach(expectExamples)
        }
        try JuiceCommand.configuration.subcommands.forEach(expectExamples)
    }

    @Test(arguments: [
        ["serv"], ["order"], ["order", "kiwi", "--count", "2"], ["restock"], ["menu", "--wait"],
        ["cancel"], ["cancel", ""], ["cancel", "a", "b"], ["cancel", "a", "--unchecked"], ["show"], ["show", ""],
        ["config", "--http", "8080"], ["config", "--workers", "0"], ["kiosk", "--stores", "a,,b"], ["kiosk", "--http", "nowhere"],
        ["kiosk", "--order-rate", "0"], ["kiosk", "--order-rate", "many"], ["kiosk", "--admin-http", "8082"],
        ["kiosk", "--host-names", "https://a.example"], ["kiosk", "--host-names", "a.example,b.example:443"],
    ])
    func refuses(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try JuiceCommand.parseAsRoot(arguments) }
        #expect(error.map { JuiceCommand.exitCode(for: $0).rawValue } == Failure.Status.usage.rawValue)
    }

    @Test(arguments: [
        ([], 0), (["--help"], 0), (["serve", "help"], 1), (["help"], 1), (["help", "topics", "check"], 3), (["topics", "-h"], 1),
        (["order", "kiwi"], 1),
    ])
    func knowsItsCommands(arguments: [String], depth: Int) throws {
        #expect(try JuiceCommand.find(in: arguments).depth == depth)
    }

    /// A log in JSON ends in JSON, wherever its format was set.
    @Test(arguments: [
        (["serve"], [:], false), (["serve", "--log-format", "json"], [:], true), (["serve"], ["JUICE_LOG_FORMAT": "JSON"], true),
    ])
    func failuresUseTheLogFormat(arguments: [String], environment: [String: String], isJSON: Bool) throws {
        let failure = Failure(.software, "it\nfailed", hint: "do this")
        let words = JuiceCommand.lastWords(failure, try Settings(arguments, environment: environment))
        let object = try? JSONDecoder().decode([String: String].self, from: Data(words.utf8))
        #expect(object?["message"] == (isJSON ? failure.message : nil) && object?["hint"] == (isJSON ? failure.hint : nil))
        #expect(isJSON || words == failure.report)
    }

    @Test func failuresAreOneLineAndAHint() {
        let failure = Failure(.unavailable, "nobody answers", hint: "try\nharder")
        #expect(failure.report == "juice: nobody answers\n  try\n  harder\n")
        #expect(Failure(.usage, "what?").report == "juice: what?\n")
    }

    @Test func theServicesErrorsHaveTheirStatus() {
        let problem = TopicCheck.Problem("missing topics: a", fix: "juice topics create")
        #expect(Failure(ServiceError.badConfiguration("x")).status == .configuration)
        #expect(Failure(ServiceError.failed("x")).status == .software)
        let one = Failure(ServiceError.unfitTopics([problem]))
        #expect(one.report == "juice: missing topics: a\n  fix it with: juice topics create\n")
        #expect(one.status == .configuration)
        #expect(Failure(ServiceError.unfitTopics([problem, problem])).report.contains("juice topics create"))
    }
}

struct ServiceGroupTests {
    /// A service that fails on demand.
    private struct Failing: Service {
        let moment: AsyncStream<Void>

        func run() async throws {
            for await _ in moment {}
            throw ServiceError.failed("its one clear error")
        }
    }

    @Test func theServerSaysNothingOfAnothersFailure() async throws {
        let (moment, listening) = AsyncStream.makeStream(of: Void.self)
        let lines = Mutex<[String]>([])
        let address = HTTPAddress(host: "127.0.0.1", port: 0)
        let logger = Logger.lines(level: .warning) { line in lines.withLock { $0.append(line) } }
        let server = HTTPServer(
            Router().buildResponder(), at: address, limits: .probes, logger: logger, onListening: { _ in listening.finish() })
        let group = ServiceGroup.of([server, Failing(moment: moment)])
        let failure = await #expect(throws: Failure.self) { try await group.runForUser() }
        #expect(failure == Failure(.software, "its one clear error"))
        #expect(lines.withLock(\.self) == [])
    }
}
