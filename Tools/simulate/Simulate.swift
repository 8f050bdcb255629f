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

    // MARK: - Many seeds

    /// What the threads share.
    private final class Progress: Sendable {
        let next = Atomic(0)
        let done = Atomic(0)
        let failures = Atomic(0)
    }

    private func runAll() throws {
        let progress = Progress()
        let start = ContinuousClock.now
        onThreads {
            work(progress)
        } meanwhile: {
            "\(progress.done.load(ordering: .relaxed)) of \(seeds.counted("seed"))"
        }
        let (done, failed) = (progress.done.load(ordering: .relaxed), progress.failures.load(ordering: .relaxed))
        let rate = Double(done) / max(0.001, (ContinuousClock.now - start) / .seconds(1))
        print("\(done.counted("seed")), \(min(failed, failures)) failed, \(Int(rate)) a second")
        if failed > 0 { throw ExitCode.failure }
    }

    /// Runs the body on as many threads as `--jobs` says, and says every ten seconds how far they are.
    private func onThreads(_ body: @escaping @Sendable () -> Void, meanwhile progress: () -> String) {
        let ended = DispatchGroup()
        for _ in 0..<jobs {
            ended.enter()
            let thread = Thread {
                body()
                ended.leave()
            }
            // The default of a secondary thread is small on some systems.
            thread.stackSize = 8 << 20
            thread.start()
        }
        while ended.wait(timeout: .now() + .seconds(10)) == .timedOut {
            FileHandle.standardError.write(Data("\(progress())\n".utf8))
        }
    }

    private func work(_ progress: Progress) {
        while true {
            let number = progress.next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard number < seeds, progress.failures.load(ordering: .relaxed) < failures else { return }
            let seed = from + UInt64(number)
            let faults = Simulation(seed: seed, flaw: flaw).run()
            progress.done.wrappingAdd(1, ordering: .relaxed)
            guard !faults.isEmpty, progress.failures.wrappingAdd(1, ordering: .relaxed).oldValue < failures else { continue }
            var lines = ["seed \(seed) failed: \(faults.count.counted("fault"))"]
            lines += faults.prefix(3).map { "  \($0)" }
            lines.append("  replay it with: make simulate SEED=\(seed)" + (flaw.map { " FLAW=\($0.rawValue)" } ?? ""))
            print(lines.joined(separator: "\n"))
        }
    }

    // MARK: - Every flaw

    private final class Finds: Sendable {
        let next = Atomic(0)
        let seeds = Mutex<[Flaw: UInt64]>([:])
    }

    /// An auditor that finds nothing proves nothing.
    private func findAll() throws {
        let (finds, flaws) = (Finds(), Flaw.allCases)
        onThreads {
            while let flaw = flaws.dropFirst(finds.next.wrappingAdd(1, ordering: .relaxed).oldValue).first {
                let seed = flaw.firstFind(within: from..<from + UInt64(seeds))
                print("\(flaw.rawValue): \(seed.map { "found by seed \($0)" } ?? "NOT FOUND")")
                finds.seeds.withLock { $0[flaw] = seed }
            }
        } meanwhile: {
            "\(finds.seeds.withLock(\.count)) of \(flaws.count.counted("flaw"))"
        }
        let count = finds.seeds.withLock(\.count)
        print("\(count) of \(flaws.count.counted("flaw")) found")
        guard count == flaws.count else { throw ExitCode.failure }
    }
}

extension Flaw: ExpressibleByArgument {}
