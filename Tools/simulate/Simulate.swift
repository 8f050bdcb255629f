import ArgumentParser
import Foundation
import JuiceSimulation

/// Runs the engine on a simulated Kafka cluster, once per seed, and prints the seeds that break the contract.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run the engine in seeded simulations of a failing Kafka cluster.",
        discussion: """
            Each seed is one run: several instances of the service, clients that repeat and misplace commands, and \
            crashes, pauses, rebalances, lost replies, late markers and outages between any two steps. An auditor that \
            knows only the contract judges what was committed. The same seed is always the same run.
            """
    )

    @Option(help: "How many seeds to run.")
    var seeds = 10_000

    @Option(help: "The first of them.")
    var from: UInt64 = 0

    @Option(help: ArgumentHelp("Run one seed and print every step of it.", valueName: "n"))
    var seed: UInt64?

    @Option(help: "Break the engine on purpose: \(Flaw.allCases.map(\.rawValue).joined(separator: ", ")).")
    var flaw: Flaw?

    @Option(help: "How many seeds to run at a time; by default as many as there are processors.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Stop after so many seeds that failed.")
    var failures = 10

    func validate() throws {
        guard seeds >= 1, jobs >= 1, failures >= 1 else { throw ValidationError("--seeds, --jobs and --failures are at least 1") }
    }

    func run() throws {
        if let seed {
            try replay(seed)
        } else {
            try Campaign(from: from, count: seeds, jobs: jobs, mostFailures: failures, flaw: flaw).run()
        }
    }

    private func replay(_ seed: UInt64) throws {
        var simulation = Simulation(seed: seed, flaw: flaw) { print($0) }
        let faults = simulation.run()
        guard faults.isEmpty else {
            for fault in faults { print("seed \(seed): \(fault)") }
            throw ExitCode.failure
        }
        print("seed \(seed): the contract was kept")
    }
}

extension Flaw: ExpressibleByArgument {}
