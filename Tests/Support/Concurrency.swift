import Foundation
import JuiceWeb
import Testing

/// Runs work that blocks, or must not wait for other tests, off the threads that tests run on, of which there are only as many as
/// cores. The work stays in its test's task, so its failed expectations are reported for that test.
package func onThread<Success: Sendable>(_ work: @Sendable () async throws -> Success) async throws -> Success {
    try await withTaskExecutorPreference(NewThreads.executor) { try await work() }
}

/// Gives each job a thread.
private final class NewThreads: TaskExecutor {
    static let executor = NewThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }.start()
    }
}

extension DispatchSemaphore {
    /// Waits for a signal. The test fails if none comes within a minute.
    package func expect(_ what: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(wait(timeout: .now() + 60) == .success, what, sourceLocation: sourceLocation)
    }
}

/// Limits how many tests run at a time, so that each gets its share of the CPU, and all together stay below the open files that the
/// system allows a process: a broker and a service take some thirty threads and sixty files. With too many at once, group
/// sessions time out, and the tests would show the machine's limits rather than the service's.
package struct ConcurrencyLimit: SuiteTrait, TestTrait, TestScoping {
    private static let places = Places(count: OpenFileLimit.raised < 2048 ? 12 : 24)

    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        await Self.places.take()
        do {
            try await body()
        } catch {
            await Self.places.leave()
            throw error
        }
        await Self.places.leave()
    }
}

/// The broker for the tests that need a real one.
package let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

extension Trait where Self == ConditionTrait {
    /// For tests that need a real broker.
    package static var onRealBroker: Self {
        .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
    }
}

extension Trait where Self == ConcurrencyLimit {
    /// For tests with a broker of their own.
    package static var concurrencyLimited: Self { ConcurrencyLimit() }
}

private actor Places {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) { free = count }

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
