import Configuration
import Foundation
import JuiceClient

/// The settings of one run, in order of precedence: the command line, the environment, the configuration file.
///
/// Each of the three has its own configuration reader, so that errors can name where a bad value was given.
struct Settings: Sendable {
    /// Where a setting was given.
    enum Source: Sendable, Equatable {
        case commandLine
        case environment
        case file(String)
    }

    /// The path of the configuration file, if any.
    let file: String?
    private let layers: [(source: Source, reader: ConfigReader)]

    /// - Parameters:
    ///   - flags: the settings on the command line.
    ///   - file: the configuration file on the command line.
    init(
        flags: [Setting: String],
        file: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) {
        // An empty variable counts as not set: many tools cannot unset a variable.
        let variables = environment.filter { $0.key.hasPrefix("JUICE_") && !$0.value.isEmpty }
        try EnvironmentNames.check(variables.keys)
        var layers: [(Source, any ConfigProvider)] = [
            (.commandLine, Self.provider("options", flags)),
            (.environment, EnvironmentVariablesProvider(environmentVariables: variables)),
        ]
        self.file = file ?? variables[Setting.configEnvironmentName]
        if let path = self.file { layers.append((.file(path), Self.provider(path, try ConfigFile.read(path)))) }
        self.layers = layers.map { ($0, ConfigReader(providers: [$1])) }
    }

    private static func provider(_ name: String, _ texts: [Setting: String]) -> some ConfigProvider {
        let values = texts.map { ($0.absoluteKey, ConfigValue(.string($1), isSecret: $0.isSecret)) }
        return InMemoryProvider(name: name, values: Dictionary(uniqueKeysWithValues: values))
    }

    /// All values of a setting, the effective one first.
    func all(_ setting: Setting) -> [(value: String, source: Source)] {
        layers.compactMap { source, reader in
            reader.string(forKey: setting.configKey, isSecret: setting.isSecret).map { ($0, source) }
        }
    }

    /// The value of a setting; nil if it was not given.
    func string(_ setting: Setting) -> String? { all(setting).first?.value }

    /// The value of a setting as something other than text.
    ///
    /// - Parameters:
    ///   - expectation: completes "must be …".
    ///   - parse: returns nil for an invalid value.
    func value<Value>(_ setting: Setting, _ expectation: String, _ parse: (String) -> Value?) throws(Failure) -> Value? {
        guard let (text, source) = all(setting).first else { return nil }
        guard let value = parse(text) else {
            throw .badSetting(setting, source, "must be \(expectation), not \"\(text.printable)\"")
        }
        return value
    }

    /// A whole number within a range.
    func integer(_ setting: Setting, in range: ClosedRange<Int>) throws(Failure) -> Int? {
        let most = range.upperBound == .max ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        return try value(setting, "a whole number, \(most)") { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// A Boolean; false if it was not given.
    func boolean(_ setting: Setting) throws(Failure) -> Bool {
        try value(setting, "true or false") { text in
            switch text.lowercased() {
            case "true", "yes", "1": true
            case "false", "no", "0": false
            default: nil
            }
        } ?? false
    }
}

extension Setting {
    /// Lower-case with dashes; the environment's provider converts it to `JUICE_…`.
    fileprivate var configKey: ConfigKey { ConfigKey(["juice", rawValue]) }

    fileprivate var absoluteKey: AbsoluteConfigKey { AbsoluteConfigKey(["juice", rawValue]) }

    /// Properties may be passwords.
    fileprivate var isSecret: Bool { self == .kafkaProperty }
}

extension Failure {
    /// An invalid value. On the command line it is a usage error, elsewhere a configuration error.
    static func badSetting(_ setting: Setting, _ source: Settings.Source, _ fault: String) -> Failure {
        switch source {
        case .commandLine: Failure(.usage, "--\(setting.rawValue) \(fault)")
        case .environment: Failure(.configuration, "\(setting.environmentName) in the environment \(fault)")
        case .file(let path): Failure(.configuration, "\"\(setting.rawValue)\" in \(path) \(fault)")
        }
    }
}
