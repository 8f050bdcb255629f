import ArgumentParser
import Kafka

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

    @Flag("Print a JSON array.") var json = false
    @OptionGroup var options: ServeOptions

    @MainActor
    func run() async throws {
        let entries = try entries(Settings(Array(CommandLine.arguments.dropFirst())))
        if json { return StandardOutput.line(try JSONText.indented(entries)) }
        let rows = entries.map { entry -> [Table.Cell] in
            let source = Table.Cell(entry.source, entry.source == "default" ? .faint : nil)
            return [.init(entry.name, .bold), .init(entry.value ?? "-"), source]
        }
        Table(["setting", "value", "source"], rows).print()
    }

    /// The settings of serve by name, and then the Kafka properties.
    ///
    /// - Throws: the ``Failure`` that `juice serve` would report.
    func entries(_ settings: Settings) throws(Failure) -> [Settings.Entry] {
        _ = try options.configuration()
        let file = try options.kafka.kafkaPropertyFile.map { path throws(Failure) in
            try KafkaProperties.read(file: path).mapValues { ($0, "file \(path)") }
        }
        let given = settings.kafkaProperties.mapValues { ($0.value, $0.source.name(of: "kafka-property")) }
        let properties = (file ?? [:]).merging(given) { $1 }.sorted { $0.key < $1.key }
        return settings.entries.filter { !["config", "json", "kafka-property"].contains($0.name) }
            + properties.map { name, given in
                Settings.Entry(
                    name: "kafka-property \(name)", value: KafkaConfiguration.isSecret(name) ? "********" : given.0, source: given.1
                )
            }
    }
}
