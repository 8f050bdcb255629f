import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Logging

/// The settings of one run, in order of precedence: the command line, the environment, the configuration file.
struct Settings: Sendable {
    /// Where a setting was given.
    enum Source: Sendable, Equatable {
        case commandLine
        case environment
        case file(String)
    }

    private let layers: [(source: Source, texts: [String: String])]

    /// The variable that names the configuration file.
    private static let fileVariable = "JUICE_CONFIG"

    /// The environment variable of the setting with this name.
    static func variable(of name: String) -> String { "JUICE_" + name.uppercased().replacing("-", with: "_") }

    /// The settings of a run with these options.
    init(_ options: some ParsableArguments) throws(Failure) {
        let given = OptionReader.texts(of: options)
        // An unset variable in a script must not silently start an embedded broker.
        guard given[Setting<String?>.bootstrapServers.name] != "" else {
            throw Failure(.usage, "--bootstrap-servers must not be empty")
        }
        try self.init(options: given, file: given["config"])
    }

    /// - Parameters:
    ///   - options: the texts on the command line, by the settings' names.
    ///   - file: the configuration file on the command line.
    init(
        options: [String: String], file: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) {
        // An empty variable counts as not set: many tools cannot unset a variable.
        let variables = environment.filter { $0.key.hasPrefix("JUICE_") && !$0.value.isEmpty }
        try Self.checkNames(of: variables.keys)
        let texts = variables.map { ($0.key.dropFirst("JUICE_".count).lowercased().replacing("_", with: "-"), $0.value) }
        var layers = [(Source.commandLine, options), (.environment, Dictionary(texts) { first, _ in first })]
        if let path = file ?? variables[Self.fileVariable] { layers.append((.file(path), try ConfigFile.read(path))) }
        self.layers = layers
    }

    /// Reports an unknown variable with the prefix of a setting: a typo would otherwise go unnoticed.
    private static func checkNames(of variables: some Collection<String>) throws(Failure) {
        guard !variables.isEmpty else { return }
        let known = OptionReader.settingNames.map(variable(of:)) + [fileVariable]
        guard let unknown = variables.sorted().first(where: { !known.contains($0) && !isServiceLink($0) }) else { return }
        let question = NearestNames.question(NearestNames.of(unknown, among: known))
        throw Failure(.configuration, "\(unknown.printable) is set in the environment, but there is no such setting\(question)")
    }

    /// Whether Kubernetes sets a variable of this name. It does so for every service of a namespace: JUICE_SERVICE_HOST
    /// for a service named juice, JUICE_METRICS_PORT_8080_TCP_ADDR for one named juice-metrics.
    private static func isServiceLink(_ name: String) -> Bool {
        name.wholeMatch(of: /.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)/) != nil
    }
}

// MARK: - Reading

extension Settings {
    /// The effective value of a setting.
    subscript<Value>(_ setting: Setting<Value>) -> Value {
        get throws(Failure) { try value(setting, setting.expectation, setting.parse) ?? setting.standard }
    }

    /// All texts that were given for a setting, the effective one first.
    func all(_ setting: Setting<some Sendable>) -> [(value: String, source: Source)] {
        assert(OptionReader.settingNames.contains(setting.name), "no command has an option --\(setting.name)")
        return layers.compactMap { source, texts in texts[setting.name].map { ($0, source) } }
    }

    /// The value of a setting that means something else to one command; nil if it was not given.
    ///
    /// - Parameters:
    ///   - expectation: completes "must be …".
    ///   - parse: returns nil for an invalid value.
    func value<Value>(
        _ setting: Setting<some Sendable>, _ expectation: String, _ parse: (String) -> Value?
    ) throws(Failure) -> Value? {
        guard let (text, source) = all(setting).first else { return nil }
        guard let value = parse(text) else {
            throw .badSetting(setting, source, "must be \(expectation), not \"\(text.printable)\"")
        }
        return value
    }

    /// A whole number whose range depends on the command; nil if it was not given.
    func integer(_ setting: Setting<some Sendable>, in range: ClosedRange<Int>) throws(Failure) -> Int? {
        try self[Setting<Int?>(setting.name, in: range)]
    }

    /// The menu in the configured file, or the built-in menu.
    func menu() throws(Failure) -> Menu {
        guard let path = try self[.menu] else { return .standard }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the menu \(path) cannot be read")
        }
        let result: Result<Menu, MenuFile.Failure> = Array(data).withUnsafeBytes { bytes in
            Result { () throws(MenuFile.Failure) in try MenuFile.decode(bytes) }
        }
        switch result {
        case .success(let menu): return menu
        case .failure(let failure): throw Failure(.configuration, "the menu \(path) cannot be used: \(failure)")
        }
    }

    /// The log level. Debug contexts of librdkafka imply the level debug.
    func logLevel(default level: Logger.Level) throws(Failure) -> Logger.Level {
        if let given = try self[.logLevel] { return given }
        return try self[.kafkaDebug] == nil ? level : .debug
    }

    /// A logger with the configured format and level; by default `level`.
    func logger(default level: Logger.Level) throws(Failure) -> Logger {
        Logger.lines(level: try logLevel(default: level), format: try self[.logFormat])
    }
}

extension Failure {
    /// An invalid value. On the command line it is a usage error, elsewhere a configuration error.
    static func badSetting(_ setting: Setting<some Sendable>, _ source: Settings.Source, _ fault: String) -> Failure {
        switch source {
        case .commandLine: Failure(.usage, "--\(setting.name) \(fault)")
        case .environment: Failure(.configuration, "\(setting.environmentName) in the environment \(fault)")
        case .file(let path): Failure(.configuration, "\"\(setting.name)\" in \(path) \(fault)")
        }
    }
}

// MARK: - The configuration file

/// The JSON file of settings: one object with members named like the options.
private enum ConfigFile {
    /// Reads the file. Every value becomes a text, as on the command line.
    static func read(_ path: String) throws(Failure) -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the configuration file \(path) cannot be read")
        }
        guard let file = try? JSONDecoder().decode([String: Value].self, from: data) else {
            throw Failure(.configuration, "the configuration file \(path) is not a JSON object")
        }
        var texts: [String: String] = [:]
        for (name, value) in file.sorted(by: { $0.key < $1.key }) {
            guard OptionReader.settingNames.contains(name) else {
                let question = NearestNames.question(NearestNames.of(name, among: OptionReader.settingNames))
                throw Failure(.configuration, "\(path) sets \"\(name.printable)\", but there is no such setting\(question)")
            }
            guard let text = value.text else {
                throw Failure(.configuration, "\"\(name)\" in \(path) must be a text, a number, true or false")
            }
            texts[name] = text
        }
        return texts
    }

    /// A member's value as on the command line; nil if its setting cannot have it.
    private struct Value: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let name = decoder.codingPath.last?.stringValue ?? ""
            if let value = try? container.decode(Bool.self) {
                text = String(value)
            } else if let value = try? container.decode(Int.self) {
                text = String(value)
            } else if let value = try? container.decode(Double.self) {
                text = String(value)
            } else if let value = try? container.decode(String.self) {
                text = value
            } else if let items = try? container.decode([String].self), let separator = ConfigFile.separators[name] {
                text = items.joined(separator: separator)
            } else if let members = try? container.decode([String: String].self), name == Setting<String?>.kafkaProperty.name {
                text = members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
            } else {
                text = nil
            }
        }
    }

    /// What stands between the items of those settings that may be lists.
    private static let separators = [
        Setting<String?>.kafkaProperty.name: "\n", Setting<StoreList?>.stores.name: ",", Setting<[String]?>.fruits.name: ",",
        Setting<[String]>.hostNames.name: ",",
    ]
}

// MARK: - The command line

/// Reads the options and flags of commands, those of their option groups included. Each gives the setting of its name, which
/// ArgumentParser derives from the property: `logLevel` is `--log-level`.
enum OptionReader {
    /// The names of all settings: the options of all commands. The file of settings cannot name itself.
    static let settingNames: [String] = {
        var names: [String] = []
        func add(_ command: any ParsableCommand.Type) {
            for (name, _) in options(of: command.init(), areParsed: false) where !names.contains(name) { names.append(name) }
            command.configuration.subcommands.forEach(add)
        }
        add(JuiceCommand.self)
        return names.filter { $0 != "config" }
    }()

    /// The texts of the options that were given, by name. Lines, if one was given more than once.
    static func texts(of arguments: some ParsableArguments) -> [String: String] {
        let given = options(of: arguments, areParsed: true).compactMap { name, option in option.text.map { (name, $0) } }
        return Dictionary(given) { first, _ in first }
    }

    /// - Parameter areParsed: whether the values of the options can be read yet.
    fileprivate static func options(of arguments: some ParsableArguments, areParsed: Bool) -> [(
        name: String, option: any AnyOption
    )] {
        Mirror(reflecting: arguments).children.flatMap { label, wrapper -> [(String, any AnyOption)] in
            if let group = wrapper as? any AnyGroup { return group.options(areParsed: areParsed) }
            guard let label, let option = wrapper as? any AnyOption else { return [] }
            return [(label.dropFirst().reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }, option)]
        }
    }
}

// What ArgumentParser's property wrappers have in common.

private protocol AnyGroup {
    func options(areParsed: Bool) -> [(name: String, option: any AnyOption)]
}

extension OptionGroup: AnyGroup {
    fileprivate func options(areParsed: Bool) -> [(name: String, option: any AnyOption)] {
        OptionReader.options(of: areParsed ? wrappedValue : Value(), areParsed: areParsed)
    }
}

private protocol AnyOption {
    associatedtype Value
    var wrappedValue: Value { get }
}

extension Option: AnyOption {}
extension Flag: AnyOption {}

extension AnyOption {
    /// The value as text; nil if the option was not given.
    var text: String? {
        if let lines = wrappedValue as? [String] { return lines.isEmpty ? nil : lines.joined(separator: "\n") }
        return (wrappedValue as? any LosslessStringConvertible)?.description
    }
}
