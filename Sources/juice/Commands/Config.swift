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

    @Flag(inversion: .prefixedNo, help: "Print a JSON array.") var json: Bool?
    @OptionGroup var options: ServeOptions

    @MainActor
    func run() async throws {
        let settings = try Settings(self)
        let entries = try Self.entries(settings)
        if try settings[.json] { return StandardOutput.line(try JSONText.indented(entries)) }
        let rows = entries.map { entry -> [Table.Cell] in
            let source = Table.Cell(entry.source.printable, entry.source == "default" ? .faint : nil)
            return [.init(entry.name, .bold), .init(entry.value?.printable ?? "-"), source]
        }
        Table(["setting", "value", "source"], rows).print()
    }

    /// What serve reads for its plan, by name, and then the Kafka properties.
    ///
    /// - Throws: the ``Failure`` that `juice serve` would report.
    static func entries(_ settings: Settings) throws(Failure) -> [Settings.Entry] {
        _ = try ServicePlan(settings)
        let properties = try KafkaProperties.given(settings).sorted { $0.key < $1.key }
        return settings.read
            + properties.map { name, given in
                Settings.Entry(
                    name: "\(Setting<String?>.kafkaProperty.name) \(name)",
                    value: KafkaConfiguration.isSecret(name) ? "********" : given.value, source: given.source)
            }
    }
}
