import Dispatch
import Foundation
import Synchronization

/// Runs work that blocks, as librdkafka's calls do, on new threads. Swift has as many cooperative threads as cores, and a blocked
/// one stalls tasks that have nothing to do with Kafka.
package enum DedicatedThread {
    /// Runs `work` once per name, on a thread of that name, and waits until all have ended. If one fails, asks the others to stop.
    ///
    /// Some librdkafka calls wait for a broker regardless of their timeout. Work that is still running when the time after a
    /// request has passed is abandoned: the process is about to exit.
    ///
    /// - Parameter limits: requests to stop, and how long the work may go on after each.
    /// - Returns: the results of the work that ended in time.
    /// - Throws: the first error.
    package static func runAll<Success: Sendable>(
        _ names: [String], until stop: StopSignal, limits: [(request: StopSignal, time: Duration)],
        _ work: @escaping @Sendable (_ index: Int) throws -> Success
    ) async throws -> [Success] {
        let (ends, end) = AsyncStream.makeStream(of: Result<Success, any Error>.self)
        for (request, time) in limits {
            request.onRequest {
                Task.detached {
                    try? await Task.sleep(for: time)
                    end.finish()
                }
            }
        }
        for (index, name) in names.enumerated() { start(name) { end.yield(Result { try work(index) }) } }

        var results: [Result<Success, any Error>] = []
        while results.count < names.count, let result = await next(of: ends) {
            if case .failure = result { stop.request() }
            results.append(result)
        }
        // In order of arrival: later failures may be consequences of the first.
        return try results.map { try $0.get() }
    }

    /// Keeps waiting when the task is cancelled: the threads have been asked to stop but have not ended yet.
    private static func next<Element: Sendable>(of stream: AsyncStream<Element>) async -> Element? {
        await Task.detached { await stream.first { _ in true } }.value
    }

    static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.start()
    }
}

/// Asks threads to stop, and cuts short their waits.
package final class StopSignal: Sendable {
    private let state = Mutex((isRequested: false, handlers: [@Sendable () -> Void]()))
    private let requested = DispatchGroup()

    package init() { requested.enter() }

    deinit { if !isRequested { requested.leave() } }

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    package func request() {
        let handlers = state.withLock { state in
            defer { state = (true, []) }
            return state.isRequested ? nil : state.handlers
        }
        guard let handlers else { return }
        requested.leave()
        for handler in handlers { handler() }
    }

    /// Calls `handler` once: when threads are asked to stop, or immediately if they already were.
    package func onRequest(_ handler: @escaping @Sendable () -> Void) {
        let isRequested = state.withLock { state in
            if !state.isRequested { state.handlers.append(handler) }
            return state.isRequested
        }
        if isRequested { handler() }
    }

    /// Waits for `duration` or until the request, whichever comes first. If the request came earlier, waits for `onceRequested`.
    package func wait(for duration: Duration, onceRequested: Duration = .zero) {
        guard !isRequested else { return Thread.sleep(forTimeInterval: onceRequested / .seconds(1)) }
        requested.hasEnded(within: duration)
    }
}

/// Detects threads that hang, by the steps they report. Such a thread does not recover, so the process should be restarted.
package final class ThreadWatchdog: Sendable {
    /// A thread hangs if a step takes longer than this. Calls that wait for a broker end after some seconds.
    package static let longestStep = Duration.seconds(120)

    /// When each thread made its last step; nil once it has ended.
    private let steps = Mutex<[String: ContinuousClock.Instant?]>([:])

    package init() {}

    /// A thread of this name has begun, perhaps not the first one.
    package func began(_ thread: String) { steps.withLock { $0[thread] = .some(.now) } }

    /// A thread has made a step.
    package func stepped(_ thread: String, now: ContinuousClock.Instant = .now) {
        steps.withLock { if $0[thread] != .some(nil) { $0[thread] = now } }
    }

    package func ended(_ thread: String) { steps.withLock { $0[thread] = .some(nil) } }

    /// One sentence for each thread that hangs.
    package func stuck(at now: ContinuousClock.Instant = .now) -> [String] {
        steps.withLock { $0 }.compactMapValues(\.self).mapValues { now - $0 }.filter { $1 > Self.longestStep }
            .sorted { $0.key < $1.key }
            .map { "\($0) has been stuck for \($1.components.seconds) s" }
    }
}

/// A thread for calls to librdkafka that may never return, one at a time. If it is released during a call, the thread ends when
/// that call returns, and only then frees what the call retains.
final class CallThread: Sendable {
    typealias Call = @Sendable () throws(KafkaError) -> Void
    typealias Outcome = Result<Void, KafkaError>

    private final class Slot: Sendable {
        let state = Mutex((call: Call?.none, outcome: Outcome?.none, isStarted: false, isReleased: false))
        let wake = DispatchSemaphore(value: 0)
        /// The call that has begun.
        let running = DispatchGroup()

        func serve() {
            while true {
                wake.wait()
                let (call, hasNotBegun) = state.withLock { ($0.isReleased ? nil : $0.call, $0.call != nil && $0.outcome == nil) }
                guard let call else {
                    // An entered group retains itself.
                    if hasNotBegun { running.leave() }
                    return
                }
                let outcome = Outcome { () throws(KafkaError) in try call() }
                state.withLock { $0.outcome = outcome }
                running.leave()
            }
        }
    }

    private let slot = Slot()

    deinit {
        slot.state.withLock { $0.isReleased = true }
        slot.wake.signal()
    }

    /// Whether a call has begun whose outcome was not taken yet.
    var isBusy: Bool { slot.state.withLock { $0.call != nil } }

    /// Begins a call. The first call starts the thread.
    func begin(_ call: @escaping Call) {
        let isStarted = slot.state.withLock { state in
            defer { (state.call, state.isStarted) = (call, true) }
            return state.isStarted
        }
        if !isStarted { DedicatedThread.start("transaction") { [slot] in slot.serve() } }
        slot.running.enter()
        slot.wake.signal()
    }

    /// The outcome of the call; nil if it has not returned in time.
    func outcome(within timeout: Duration) -> Outcome? {
        guard slot.running.hasEnded(within: timeout) else { return nil }
        return slot.state.withLock { state in
            state.call = nil
            return state.outcome.take()
        }
    }
}
