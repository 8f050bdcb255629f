import ArgumentParser
import Kafka

/// `juice config`: shows what `juice serve` would run with.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the settings that serve would run with, and where each was given.",
        discussion: """
            It accepts the options of serve, reads the environment and the configuration file like serve, and reports the same \
            errors. Passwords are not shown.

            Examples:
              juice config
              JUICE_WORKERS=2 juice config --config juice.json --http 127.0.0.1:8080
              juice config --json | jq -r '.[] | select(.source != "default") | .name'
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print a JSON array.")
    var json: Bool?

    @OptionGroup var options: ServeOptions

    @MainActor
    func run() async throws {
        let settings = try Settings(self)
        let entries = try Self.entries(settings)
        if try settings[.json] { return StandardOutput.line(try JSONText.indented(entries)) }
        StandardOutput.line(Self.table(entries).lines(paint: .forStandardOutput()).joined(separator: "\n"))
    }

    /// A setting as it is shown.
    struct Entry: Encodable, Equatable {
        /// The setting's name; for a Kafka property, its name after `kafka-property `.
        let name: String
        /// The value as in a file, secrets as `********`; nil if there is none.
        let value: String?
        /// Where it was given, or "default".
        let source: String
    }

    /// - Throws: the ``Failure`` that `juice serve` would report.
    static func entries(_ settings: Settings) throws(Failure) -> [Entry] {
        let properties = try ServicePlan(settings).configuration.kafkaProperties.sorted { $0.key < $1.key }
        var entries = [
            try settings.entry(.bootstrapServers), try settings.entry(.requireBrokers), try settings.entry(.topicPrefix),
            try settings.entry(.kafkaPropertyFile),
            try settings.entry(.kafkaDebug), try settings.entry(.logLevel, settings.logLevel(default: .notice)),
            try settings.entry(.logFormat),
            try settings.entry(.menu), try settings.entry(.stores), try settings.entry(.language), try settings.entry(.group),
            try settings.entry(.instanceID),
            try settings.entry(.workers),
            try settings.entry(.duplicateWindow), try settings.entry(.duplicateIDs), try settings.entry(.answerBytes),
            try settings.entry(.http),
            try settings.entry(.readyFile), try settings.entry(.createTopics), try settings.entry(.partitions),
            try settings.entry(.replicationFactor),
        ]
        for (name, value) in properties {
            entries.append(
                Entry(
                    name: "\(Setting<String?>.kafkaProperty.name) \(name)",
                    value: KafkaConfiguration.isSecret(name) ? "********" : value,
                    source: try KafkaProperties.source(of: name, in: settings)))
        }
        return entries
    }

    private static func table(_ entries: [Entry]) -> Table {
        var table = Table([.init(title: "setting"), .init(title: "value"), .init(title: "source")])
        for entry in entries {
            table.add([
                .init(entry.name, .bold), .init(entry.value?.printable ?? "-"),
                .init(entry.source.printable, entry.source == "default" ? .faint : nil),
            ])
        }
        return table
    }
}

extension Settings {
    /// - Parameter value: the effective value, if it is more than what was given.
    fileprivate func entry<Value>(_ setting: Setting<Value>, _ value: Value? = nil) throws(Failure) -> ConfigCommand.Entry {
        let value = if let value { value } else { try self[setting] }
        let source = all(setting).first?.source.name(of: setting)
        return ConfigCommand.Entry(name: setting.name, value: setting.show(value), source: source ?? "default")
    }
}

extension Settings.Source {
    /// The name for people.
    func name(of setting: Setting<some Sendable>) -> String {
        switch self {
        case .commandLine: "option"
        case .environment: "environment \(setting.environmentName)"
        case .file(let path): "file \(path)"
        }
    }
}
