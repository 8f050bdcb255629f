import ArgumentParser

/// What checks outside of Swift run.
struct Fixtures: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "What `make contract` and `make test-browser` check against.",
        subcommands: [ContractSamples.self, KioskStage.self])
}
