import ArgumentParser
import JuiceClient

/// `juice config`: shows what `juice serve` would run with.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the settings that serve would run with, and where each was given.",
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
        let entries = try EffectiveSettings(settings).entries
        if try settings.boolean(.json) { return StandardOutput.line(try JSONText.indented(entries)) }
        StandardOutput.line(Self.table(entries).lines(paint: .forStandardOutput()).joined(separator: "\n"))
    }

    static func table(_ entries: [EffectiveSettings.Entry]) -> Table {
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
