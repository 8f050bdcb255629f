import ArgumentParser
import Foundation
import Kafka

/// A command line, completed from the environment and the configuration file. Precedence: the command line, the environment, the
/// file.
///
/// An option that is not on the command line is added to it, as if the user had typed it. So commands need not know the other
/// sources, and ArgumentParser parses all values.
struct Settings {
    /// Where an option was given.
    enum Source: Equatable {
        case commandLine
        case environment
        case file(String)

        /// How messages name the option.
        func name(of option: String) -> String {
            switch self {
            case .commandLine: "--\(option)"
            case .environment: "\(Settings.variable(of: option)) in the environment"
            case .file(let path): "\"\(option)\" in \(path)"
            }
        }
    }

    /// A setting, as `juice config` shows it.
    struct Entry: Encodable, Equatable {
        let name: String
        /// The value as it was given, secrets as `********`; nil if there is none.
        let value: String?
        let source: String
    }

    private(set) var arguments: [String]
    private(set) var kafkaProperties: [String: (value: String, source: Source)] = [:]
    private var options: [String: OptionInfo] = [:]
    /// The values given for the command's options, by name.
    private var given: [String: (value: String, source: Source)] = [:]

    private static let fileVariable = "JUICE_CONFIG"
    private static let kafkaProperty = "kafka-property"

    static func variable(of name: String) -> String { "JUICE_" + name.uppercased().replacing("-", with: "_") }

    /// - Parameter arguments: the command line, without the name of the program.
    init(
        _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) {
        self.arguments = arguments
        let (command, depth) = try JuiceCommand.find(in: arguments)
        // Help does not depend on settings.
        guard depth > 0, !arguments.contains(where: { ["help", "-h", "--help", "--version"].contains($0) }) else { return }
        options = OptionInfo.all(of: command)
        try readCommandLine(arguments.dropFirst(depth))

        // An empty variable counts as not set: many tools cannot unset a variable.
        let variables = environment.filter { $0.key.hasPrefix("JUICE_") && !$0.value.isEmpty }
        var texts: [String: String] = [:]
        for (variable, text) in variables.sorted(by: { $0.key < $1.key }) where variable != Self.fileVariable {
            // Describing all commands takes a while, and most settings belong to this one.
            if let name = options.keys.first(where: { Self.variable(of: $0) == variable }) {
                texts[name] = text
            } else if !OptionInfo.allNames.contains(where: { Self.variable(of: $0) == variable }), !Self.isServiceLink(variable) {
                // A typo would otherwise go unnoticed.
                let known = OptionInfo.allNames.map(Self.variable) + [Self.fileVariable]
                let question = NearestNames.question(NearestNames.of(variable, among: known.sorted()))
                throw Failure(
                    .configuration, "\(variable) is set in the environment, but there is no such setting\(question)")
            }
        }
        var added = try add(texts, from: .environment)
        if let path = given["config"]?.value ?? variables[Self.fileVariable] {
            // The file may set the log format. Until it is read, only the command line and the environment can.
            let format = given["log-format"].flatMap { LogFormat(rawValue: $0.value.lowercased()) } ?? .text
            let isPatient = command is any PatientCommand.Type && given["dry-run"]?.value != "true"
            let patience = isPatient ? Patience(.lines(level: .notice, format: format)) : nil
            let texts = try Patience.having(patience) { () throws(Failure) in try self.texts(ofFile: path) }
            added += try add(texts, from: .file(path))
        }
        self.arguments.insert(contentsOf: added, at: depth)
    }

    /// Records the options on the command line. A value never begins with a dash there, so an argument that does is an option.
    private mutating func readCommandLine(_ arguments: ArraySlice<String>) throws(Failure) {
        for (index, argument) in zip(arguments.indices, arguments).prefix(while: { $0.1 != "--" }) where argument.hasPrefix("--") {
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let next = index + 1 < arguments.endIndex ? arguments[index + 1] : ""
            let name = parts.first ?? ""
            if name == Self.kafkaProperty {
                _ = try addProperties(parts.count > 1 ? parts[1] : next, from: .commandLine)
            } else if let option = options[name] {
                given[name] = (option.kind == "flag" ? "true" : parts.count > 1 ? parts[1] : next, .commandLine)
            } else if name.hasPrefix("no-") {
                given[String(name.dropFirst(3))] = ("false", .commandLine)
            }
        }
    }

    private mutating func add(_ texts: [String: String], from source: Source) throws(Failure) -> [String] {
        var added: [String] = []
        for (name, text) in texts.sorted(by: { $0.key < $1.key }) where !text.isEmpty {
            guard let option = options[name], given[name] == nil else { continue }
            if name == Self.kafkaProperty {
                added += try addProperties(text, from: source)
                continue
            }
            given[name] = (text, source)
            if option.kind == "flag" {
                switch text.lowercased() {
                case "true", "yes", "1": added.append("--\(name)")
                case "false", "no", "0": added.append("--no-\(name)")
                default: throw Failure(.configuration, "\(source.name(of: name)) must be true or false, not \"\(text)\"")
                }
            } else {
                let values = option.isRepeating ? text.split(whereSeparator: \.isNewline).map(String.init) : [text]
                added += values.map { "--\(name)=\($0)" }
            }
        }
        return added
    }

    /// The arguments to add for these librdkafka properties. Each property may come from a different source.
    private mutating func addProperties(_ text: String, from source: Source) throws(Failure) -> [String] {
        let name = source.name(of: Self.kafkaProperty)
        let properties = try KafkaProperties.parse(text) { line in
            Failure(
                source == .commandLine ? .usage : .configuration,
                "\(name) must be name=value, one a line, which its line \(line) is not")
        }
        if source == .commandLine, let secret = properties.keys.first(where: KafkaConfiguration.isSecret) {
            throw Failure(
                .usage, "\(secret) must not be on the command line, where every user of this machine can read it",
                hint: "put it in a file that --kafka-property-file names, or in the environment as"
                    + " \(Self.variable(of: Self.kafkaProperty))")
        }
        let added = properties.filter { source == .commandLine || kafkaProperties[$0.key] == nil }
        kafkaProperties.merge(added.mapValues { ($0, source) }) { $1 }
        return added.map { "--\(Self.kafkaProperty)=\($0.key)=\($0.value)" }
    }

    /// Whether Kubernetes sets a variable of this name. It does so for every service of a namespace: JUICE_SERVICE_HOST
    /// for a service named juice, JUICE_METRICS_PORT_8080_TCP_ADDR for one named juice-metrics.
    private static func isServiceLink(_ name: String) -> Bool {
        name.wholeMatch(of: /.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)/) != nil
    }

    /// Reads the JSON file of settings: one object, with members named like the options. Every value becomes text, as on the
    /// command line.
    private func texts(ofFile path: String) throws(Failure) -> [String: String] {
        let data = Data(try Failure.bytes(of: path, "the configuration file"))
        guard let file = try? JSONDecoder().decode([String: FileValue].self, from: data) else {
            throw Failure(.configuration, "the configuration file \(path) is not a JSON object")
        }
        // A string before a colon is a member's name. The decoder would keep one of two equal names.
        var names: Set<Substring> = []
        for match in String(decoding: data, as: UTF8.self).matches(of: /"([^"\\]+)"\s*:/) where !names.insert(match.1).inserted {
            throw Failure(.configuration, "\(path) sets \"\(match.1)\" twice")
        }
        var texts: [String: String] = [:]
        for (name, value) in file.sorted(by: { $0.key < $1.key }) {
            guard options[name] != nil && name != "config" || OptionInfo.allNames.contains(name) else {
                let question = NearestNames.question(NearestNames.of(name, among: OptionInfo.allNames.sorted()))
                throw Failure(.configuration, "\(path) sets \"\(name)\", but there is no such setting\(question)")
            }
            let isProperties = name == Self.kafkaProperty
            for (property, value) in isProperties ? value.members ?? [:] : [:] {
                guard let text = value.text, text.contains(where: \.isNewline), !PEM.isText(text) else { continue }
                throw Failure(.configuration, "the value of \"\(property)\" in \(path) has a line break")
            }
            let lines = value.members?.compactMap { name, value in value.text.map { "\(name)=\($0)" } }
            let list = value.list?.joined(separator: options[name]?.isRepeating ?? false ? "\n" : ",")
            guard lines?.count == value.members?.count,
                let text = isProperties ? lines?.joined(separator: "\n") : value.text ?? list
            else {
                let shape = isProperties ? "an object of texts and numbers" : "a text, a number, true or false"
                throw Failure(.configuration, "\"\(name)\" in \(path) must be \(shape)")
            }
            texts[name] = text
        }
        return texts
    }

    // MARK: - What was given

    /// The command's options in order of name, each with the given value or its default.
    var entries: [Entry] {
        options.values.sorted { $0.name < $1.name }.map { option in
            let given = given[option.name]
            return Entry(
                name: option.name, value: given?.value ?? option.defaultText,
                source: given?.source.name(of: option.name) ?? "default")
        }
    }

    /// The failure for ArgumentParser's message. An invalid value is a usage error on the command line. Elsewhere it is a
    /// configuration error that names the source.
    func failure(_ message: String, hint: String?) -> Failure {
        for (name, (_, source)) in given where source != .commandLine {
            let option = "'--\(name) <\(options[name]?.valueName ?? "")>'"
            if message.contains(option) {
                return Failure(.configuration, message.replacing(option, with: source.name(of: name)))
            }
        }
        return Failure(.usage, message, hint: hint)
    }
}

private struct FileValue: Decodable {
    /// A text, a number, true or false, as it is written on the command line.
    let text: String?
    /// A list of texts without commas.
    let list: [String]?
    let members: [String: FileValue]?

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        func read<Value: Decodable & CustomStringConvertible>(_ type: Value.Type) -> String? {
            (try? value.decode(type))?.description
        }
        text = read(Bool.self) ?? read(Int.self) ?? read(Double.self) ?? read(String.self)
        list = (try? value.decode([String].self)).flatMap { $0.contains { $0.contains(",") } ? nil : $0 }
        members = try? value.decode([String: FileValue].self)
    }
}

/// An option or a flag of a command, as ArgumentParser describes it to tools.
struct OptionInfo: Decodable {
    private struct Name: Decodable { let kind, name: String }
    private struct Tool: Decodable { let command: Command }
    private struct Command: Decodable { let arguments: [OptionInfo]? }

    let kind: String
    let isRepeating: Bool
    let valueName: String?
    private let names: [Name]?
    private let abstract: String?

    var name: String { names?.first { $0.kind == "long" }?.name ?? "" }

    /// The default, read from the end of the help.
    var defaultText: String? {
        kind == "flag" ? "false" : abstract?.firstMatch(of: /\(default: (.*)\)$/).map { String($0.1) }
    }

    /// The options of a command, by name. A flag is listed once, without its `no-` form.
    static func all(of command: any ParsableCommand.Type) -> [String: OptionInfo] {
        let tool = try? JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8))
        let options = (tool?.command.arguments ?? []).filter { $0.kind != "positional" && !["help", "version"].contains($0.name) }
        let named = Dictionary(options.map { ($0.name, $0) }) { first, _ in first }
        return named.filter { !$0.key.hasPrefix("no-") || named[String($0.key.dropFirst(3))] == nil }
    }

    /// The names of all commands' options, without `config`: the settings file cannot name itself.
    static let allNames: Set<String> = {
        func names(_ command: any ParsableCommand.Type) -> Set<String> {
            // The description of a command with subcommands includes theirs, and such a command has no options of its own.
            let subcommands = command.configuration.subcommands
            return subcommands.isEmpty ? Set(all(of: command).keys) : subcommands.reduce(into: []) { $0.formUnion(names($1)) }
        }
        return names(JuiceCommand.self).subtracting(["config"])
    }()
}
