import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Logging
import Synchronization

/// The settings of one run, in order of precedence: the command line, the environment, the configuration file.
struct Settings: Sendable {
    /// Where a setting was given.
    enum Source: Sendable, Equatable {
        case commandLine
        case environment
        case file(String)

        /// The setting there, for people.
        func name(of setting: Setting<some Sendable>) -> String {
            switch self {
            case .commandLine: "--\(setting.name)"
            case .environment: "\(setting.environmentName) in the environment"
            case .file(let path): "\"\(setting.name)\" in \(path)"
            }
        }
    }

    /// A setting that was read, as `juice config` shows it.
    struct Entry: Encodable, Equatable {
        let name: String
        /// The value as it was given, secrets as `********`; nil if there is none.
        let value: String?
        /// Where it was given, or "default".
        let source: String
    }

    private final class ReadEntries: Sendable { let byName = Mutex<[String: Entry]>([:]) }

    private let layers: [(source: Source, texts: [String: String])]
    private let readEntries = ReadEntries()

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
        let names = OptionReader.settingNames
        var given: [String: String] = [:]
        for (variable, text) in variables.sorted(by: { $0.key < $1.key }) where variable != Self.fileVariable {
            if let name = names.first(where: { Self.variable(of: $0) == variable }) {
                given[name] = text
            } else if !Self.isServiceLink(variable) {
                // A typo would otherwise go unnoticed.
                let nearest = NearestNames.of(variable, among: (names.map(Self.variable) + [Self.fileVariable]).sorted())
                throw Failure(
                    .configuration,
                    "\(variable.printable) is set in the environment, but there is no such setting\(NearestNames.question(nearest))"
                )
            }
        }
        var layers = [(Source.commandLine, options), (.environment, given)]
        if let path = file ?? variables[Self.fileVariable] { layers.append((.file(path), try Self.texts(ofFile: path))) }
        self.layers = layers
    }

    /// Whether Kubernetes sets a variable of this name. It does so for every service of a namespace: JUICE_SERVICE_HOST
    /// for a service named juice, JUICE_METRICS_PORT_8080_TCP_ADDR for one named juice-metrics.
    private static func isServiceLink(_ name: String) -> Bool {
        name.wholeMatch(of: /.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)/) != nil
    }

    /// Reads the JSON file of settings, one object with members named like the options. Every value becomes a text, as on the
    /// command line.
    private static func texts(ofFile path: String) throws(Failure) -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the configuration file \(path) cannot be read")
        }
        guard let file = try? JSONDecoder().decode([String: FileValue].self, from: data) else {
            throw Failure(.configuration, "the configuration file \(path) is not a JSON object")
        }
        var texts: [String: String] = [:]
        for (name, value) in file.sorted(by: { $0.key < $1.key }) {
            guard OptionReader.settingNames.contains(name) else {
                let question = NearestNames.question(NearestNames.of(name, among: OptionReader.settingNames.sorted()))
                throw Failure(.configuration, "\(path) sets \"\(name.printable)\", but there is no such setting\(question)")
            }
            guard let text = value.text else {
                throw Failure(.configuration, "\"\(name)\" in \(path) must be a text, a number, true or false")
            }
            texts[name] = text
        }
        return texts
    }
}

/// A value in the configuration file, as a text on the command line: a list has commas, an object a line of `name=value` for each
/// member. Nil for anything else.
private struct FileValue: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func value<Value: Decodable>(_ type: Value.Type) -> Value? { try? container.decode(type) }
        let scalar = value(Bool.self)?.description ?? value(Int.self)?.description ?? value(Double.self)?.description
        let lines = value([String: String].self)?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        text = scalar ?? value(String.self) ?? value([String].self)?.joined(separator: ",") ?? lines?.joined(separator: "\n")
    }
}

// MARK: - Reading

extension Settings {
    /// The effective value of a setting.
    subscript<Value>(_ setting: Setting<Value>) -> Value {
        get throws(Failure) {
            let given = all(setting).first
            let entry = Entry(
                name: setting.name, value: given?.value ?? setting.standardText,
                source: given?.source.name(of: setting) ?? "default")
            readEntries.byName.withLock { $0[setting.name] = $0[setting.name] ?? entry }
            guard let (text, source) = given else { return setting.standard }
            guard let value = setting.parse(text) else {
                throw .badSetting(setting, source, "must be \(setting.expectation), not \"\(text.printable)\"")
            }
            return value
        }
    }

    /// The settings that were read so far, by name.
    var read: [Entry] { readEntries.byName.withLock { $0.values.sorted { $0.name < $1.name } } }

    /// All texts that were given for a setting, the effective one first.
    func all(_ setting: Setting<some Sendable>) -> [(value: String, source: Source)] {
        assert(OptionReader.settingNames.contains(setting.name), "no command has an option --\(setting.name)")
        return layers.compactMap { source, texts in texts[setting.name].map { ($0, source) } }
    }

    /// The menu in the configured file, or the built-in menu.
    func menu() throws(Failure) -> Menu { try self[.menu].map(Self.menu(at:)) ?? .standard }

    /// The menus in the configured files, one a line, or the built-in menu.
    func menus() throws(Failure) -> [Menu] {
        guard let paths = try self[.menu] else { return [.standard] }
        var menus: [Menu] = []
        for path in paths.split(separator: "\n", omittingEmptySubsequences: false) { menus.append(try Self.menu(at: String(path))) }
        return menus
    }

    private static func menu(at path: String) throws(Failure) -> Menu {
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

    /// A logger with the configured format and level; by default `level`.
    func logger(default level: Logger.Level) throws(Failure) -> Logger {
        Logger.lines(level: try self[.logLevel(default: level)], format: try self[.logFormat])
    }
}

extension Failure {
    /// An invalid value. On the command line it is a usage error, elsewhere a configuration error.
    static func badSetting(_ setting: Setting<some Sendable>, _ source: Settings.Source, _ fault: String) -> Failure {
        Failure(source == .commandLine ? .usage : .configuration, "\(source.name(of: setting)) \(fault)")
    }
}

// MARK: - The command line

/// Reads the options and flags of commands, those of their option groups included. Each gives the setting of its name, which
/// ArgumentParser derives from the property: `logLevel` is `--log-level`.
enum OptionReader {
    /// The names of all settings: the options of all commands. The file of settings cannot name itself.
    static let settingNames: Set<String> = {
        var names: Set<String> = []
        func add(_ command: any ParsableCommand.Type) {
            names.formUnion(options(of: command.init(), areParsed: false).map(\.name))
            command.configuration.subcommands.forEach(add)
        }
        add(JuiceCommand.self)
        return names.subtracting(["config"])
    }()

    /// The texts of the options that were given, by name. Lines, if one was given more than once.
    static func texts(of arguments: some ParsableArguments) -> [String: String] {
        let given = options(of: arguments, areParsed: true).compactMap { name, text in text.map { (name, $0) } }
        return Dictionary(given) { first, _ in first }
    }

    /// - Parameter areParsed: whether the options have values. To read the value of one that has none ends the process.
    private static func options(of arguments: any ParsableArguments, areParsed: Bool) -> [(name: String, text: String?)] {
        Mirror(reflecting: arguments).children.flatMap { label, child -> [(name: String, text: String?)] in
            guard let label, let option = child as? any OptionWrapper else { return [] }
            let value = areParsed ? option.wrappedValue : nil
            if let group = option.valueType as? any ParsableArguments.Type {
                return options(of: value as? any ParsableArguments ?? group.init(), areParsed: areParsed)
            }
            let name = label.dropFirst().reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
            let lines = (value as? [String]).flatMap { $0.isEmpty ? nil : $0.joined(separator: "\n") }
            return [(name, lines ?? (value as? any LosslessStringConvertible)?.description)]
        }
    }
}

/// What ArgumentParser's property wrappers have in common.
private protocol OptionWrapper {
    associatedtype Value
    var wrappedValue: Value { get }
}

extension OptionWrapper {
    var valueType: Any.Type { Value.self }
}

extension OptionGroup: OptionWrapper {}
extension Option: OptionWrapper {}
extension Flag: OptionWrapper {}
