import Dispatch
import Synchronization

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
