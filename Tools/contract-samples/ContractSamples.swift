import ArgumentParser
import MessageSamples

/// Prints messages for the check of the schemas, a line of JSON each: some that the service takes or writes, and some that
/// it does not.
@main
struct ContractSamples: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contract-samples", abstract: "Print messages that the schemas in docs/schemas must judge as the service does."
    )

    @Option(help: "How many commands to make up, each with its answers, a note of the journal, and damaged ones.") var commands =
        1200

    @Option(help: "The same seed makes the same messages.")
    var seed: UInt64 = 1

    func run() throws {
        for sample in GoldenSamples.all { print(try sample.line()) }
        var generation = Generation(seed: seed)
        for number in 0..<commands {
            if number.isMultiple(of: 25) { try generation.openShop() }
            try generation.submitNext()
            try generation.noteNext()
            for sample in generation.removeSamples() { print(try sample.line()) }
        }
        if let kind = generation.kindNotFullyDamaged() {
            throw ValidationError("too few commands to damage the kind \(kind) in every way")
        }
    }
}
