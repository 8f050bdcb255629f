import ArgumentParser
import Foundation
import JuiceDomain
import Synchronization

/// Runs the engine on a simulated Kafka cluster, once per seed, and prints the seeds that break the contract.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run the engine in seeded simulations of a failing Kafka cluster.",
        discussion: """
            Each seed is one run: several instances of the service, clients that repeat and misplace commands, and \
            crashes, pauses, rebalances, lost replies, late markers and outages between any two steps. An auditor that \
            replays each command judges what was committed. The same seed is always the same run.
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

    @Flag(help: "Break the engine in each of these ways: every one must be found, within the given seeds.")
    var everyFlaw = false

    @Option(help: "How many seeds to run at a time; by default as many as there are processors.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Stop after this many seeds that failed.")
    var failures = 10

    func validate() throws {
        guard seeds >= 1, jobs >= 1, failures >= 1 else { throw ValidationError("--seeds, --jobs and --failures are at least 1") }
        guard !everyFlaw || flaw == nil && seed == nil else { throw ValidationError("--every-flaw goes without --flaw and --seed") }
    }

    func run() throws {
        if let seed { try replay(seed) } else if everyFlaw { try findAll() } else { try runAll() }
    }

    private func replay(_ seed: UInt64) throws {
        let faults = Simulation(seed: seed, flaw: flaw) { print($0) }.run()
        guard faults.isEmpty else {
            for fault in faults { print("seed \(seed): \(fault)") }
            throw ExitCode.failure
        }
        print("seed \(seed): the contract was kept")
    }

    // MARK: - Many runs

    private func runAll() throws {
        let start = ContinuousClock.now
        let (done, failed) = forEach(seeds, "seed", most: failures) { number in
            let seed = from + UInt64(number)
            let faults = Simulation(seed: seed, flaw: flaw).run()
            guard !faults.isEmpty else { return true }
            var lines = ["seed \(seed) failed: \(faults.count.counted("fault"))"]
            lines += faults.prefix(3).map { "  \($0)" }
            lines.append("  replay it with: make simulate SEED=\(seed)" + (flaw.map { " FLAW=\($0.rawValue)" } ?? ""))
            print(lines.joined(separator: "\n"))
            return false
        }
        let rate = Double(done) / max(0.001, (ContinuousClock.now - start) / .seconds(1))
        print("\(done.counted("seed")), \(failed) failed, \(Int(rate)) a second")
        if failed > 0 { throw ExitCode.failure }
    }

    /// An auditor that finds nothing proves nothing.
    private func findAll() throws {
        let flaws = Flaw.allCases
        let missed = forEach(flaws.count, "flaw", most: flaws.count) { number in
            let seed = flaws[number].firstFind(within: from..<from + UInt64(seeds))
            print("\(flaws[number].rawValue): \(seed.map { "found by seed \($0)" } ?? "NOT FOUND")")
            return seed != nil
        }.failed
        print("\(flaws.count - missed) of \(flaws.count.counted("flaw")) found")
        if missed > 0 { throw ExitCode.failure }
    }

    /// What the threads share.
    private final class Progress: Sendable {
        let next = Atomic(0)
        let done = Atomic(0)
        let failed = Atomic(0)
    }

    /// Calls the body with the numbers from 0 on, on as many threads as `--jobs` says, and says every ten seconds how far they are.
    /// None begins after this many calls have returned false.
    private func forEach(
        _ count: Int, _ what: String, most: Int, _ body: @escaping @Sendable (Int) -> Bool
    ) -> (done: Int, failed: Int) {
        let (progress, ended) = (Progress(), DispatchGroup())
        for _ in 0..<jobs {
            ended.enter()
            let thread = Thread {
                while progress.failed.load(ordering: .relaxed) < most {
                    let number = progress.next.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard number < count else { break }
                    if !body(number) { progress.failed.wrappingAdd(1, ordering: .relaxed) }
                    progress.done.wrappingAdd(1, ordering: .relaxed)
                }
                ended.leave()
            }
            // The default of a secondary thread is small on some systems.
            thread.stackSize = 8 << 20
            thread.start()
        }
        while ended.wait(timeout: .now() + .seconds(10)) == .timedOut {
            let text = "\(progress.done.load(ordering: .relaxed)) of \(count.counted(what))\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
        return (progress.done.load(ordering: .relaxed), progress.failed.load(ordering: .relaxed))
    }
}

extension Flaw: ExpressibleByArgument {}
