import ArgumentParser
import Foundation
import JuiceSimulation
import Synchronization

/// Runs many seeds on several threads.
struct Campaign {
    let from: UInt64
    let count: Int
    let jobs: Int
    let mostFailures: Int
    let flaw: Flaw?

    /// The state shared by the threads.
    private final class Progress: Sendable {
        let next = Atomic(0)
        let done = Atomic(0)
        let failures = Mutex<[(seed: UInt64, faults: [String])]>([])
    }

    /// - Throws: ``ExitCode/failure`` if a seed failed.
    func run() throws {
        let progress = Progress()
        let start = ContinuousClock.now
        let ended = DispatchGroup()
        for _ in 0..<jobs {
            ended.enter()
            let thread = Thread {
                work(progress)
                ended.leave()
            }
            // The default of a secondary thread is small on some systems.
            thread.stackSize = 8 << 20
            thread.start()
        }
        let bar = ProgressBar(total: count)
        while ended.wait(timeout: .now() + .milliseconds(200)) == .timedOut {
            bar.show(progress.done.load(ordering: .relaxed), failures: progress.failures.withLock { $0.count })
        }
        bar.clear()
        let failures = progress.failures.withLock { $0 }
        let done = progress.done.load(ordering: .relaxed)
        let rate = Double(done) / max(0.001, (ContinuousClock.now - start) / .seconds(1))
        print("\(done) seeds, \(failures.count) failed, \(Int(rate)) a second")
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func work(_ progress: Progress) {
        while true {
            let number = progress.next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard number < count else { return }
            let seed = from + UInt64(number)
            var simulation = Simulation(seed: seed, flaw: flaw)
            let faults = simulation.run()
            progress.done.wrappingAdd(1, ordering: .relaxed)
            guard !faults.isEmpty else { continue }
            let isEnough = progress.failures.withLock { failures in
                guard failures.count < mostFailures else { return true }
                failures.append((seed, faults))
                report(seed, faults)
                return failures.count == mostFailures
            }
            if isEnough {
                progress.next.store(count, ordering: .relaxed)
                return
            }
        }
    }

    private func report(_ seed: UInt64, _ faults: [String]) {
        var lines = ["seed \(seed) failed: \(faults.count) faults"]
        lines += faults.prefix(3).map { "  \($0)" }
        lines.append("  replay it with: make simulate SEED=\(seed)" + (flaw.map { " FLAW=\($0.rawValue)" } ?? ""))
        print(ProgressBar.erase + lines.joined(separator: "\n"))
    }
}
