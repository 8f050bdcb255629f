import ArgumentParser

/// Commands for checks outside of Swift.
struct Fixtures: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "What `make contract` and `make test-browser` check against.",
        subcommands: [ContractSamples.self, KioskStage.self])
}
