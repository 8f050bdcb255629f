import ArgumentParser
import Foundation
import JuiceClient
import Testing

@testable import juice

/// Tests that every option of every command sets the setting of its name.
struct GivenOptionsTests {
    /// The options that ArgumentParser reports.
    private struct Tool: Decodable { let command: Command }

    private struct Command: Decodable {
        let commandName: String
        let shouldDisplay: Bool
        let subcommands: [Command]?
        let arguments: [Argument]?
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let kind: String
        let names: [Name]?
        let isOptional: Bool
    }

    private static let ofNoSetting: Set = ["config", "help", "version"]

    /// A command line, and the expected settings.
    private struct Line {
        let command: any ParsableCommand.Type
        var arguments: [String]
        var texts: [String: String] = [:]
    }

    /// Each command with all of its options.
    private func lines() throws -> [Line] {
        var lines: [Line] = []
        func add(_ command: any ParsableCommand.Type, _ known: Command) {
            let positional = (known.arguments ?? []).filter { $0.kind == "positional" && !$0.isOptional }
            var line = Line(command: command, arguments: positional.map { _ in "3@42" })
            for argument in known.arguments ?? [] {
                let name = argument.names?.first { $0.kind == "long" }?.name
                guard let name, !Self.ofNoSetting.contains(name), !name.hasPrefix("no-") else { continue }
                let value = argument.kind == "flag" ? nil : "7"
                line.arguments += ["--\(name)", value].compactMap(\.self)
                line.texts[name] = value ?? "true"
            }
            lines.append(line)
            for subcommand in command.configuration.subcommands {
                let found = known.subcommands?.first { $0.commandName == subcommand._commandName }
                if let found, found.shouldDisplay { add(subcommand, found) }
            }
        }
        let tool = try JSONDecoder().decode(Tool.self, from: Data(JuiceCommand._dumpHelp().utf8))
        add(JuiceCommand.self, tool.command)
        return lines
    }

    @Test func everyOptionGivesItsSetting() throws {
        let lines = try lines()
        for line in lines where !line.texts.isEmpty {
            let texts = GivenOptions(try line.command.parse(line.arguments)).texts
            #expect(texts.mapValues { $0 == "7.0" ? "7" : $0 } == line.texts, "\(line.arguments)")
        }
        #expect(Set(lines.flatMap(\.texts.keys)) == Set(Setting.allCases.map(\.rawValue)))
    }

    @Test func whatIsGivenMoreThanOnceIsLines() throws {
        let arguments = ["serve", "--kafka-property", "a=1", "--kafka-property", "b=2", "--config", "f.json"]
        let given = GivenOptions(try JuiceCommand.parseAsRoot(arguments)).texts
        #expect(given == ["kafka-property": "a=1\nb=2", "config": "f.json"])
    }

    @Test func aFlagCanSayNo() throws {
        #expect(GivenOptions(try Stock.parse(["--no-watch"])).texts == ["watch": "false"])
    }

    @Test func noBrokersAreNotAnyBrokers() throws {
        let command = try JuiceCommand.parseAsRoot(["stock", "--bootstrap-servers", ""])
        let failure = #expect(throws: Failure.self) { try Settings(command) }
        #expect(failure == Failure(.usage, "--bootstrap-servers must not be empty"))
    }
}
