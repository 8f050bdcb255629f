import Dispatch
import Synchronization

/// A thread for calls to librdkafka that may take longer than their timeout, so that such a call can be abandoned.
///
/// It makes one call at a time. If it is released in the middle of one, it ends when that call returns, and only then is what
/// the call retains freed.
final class CallThread: Sendable {
    typealias Outcome = Result<Void, KafkaError>

    private final class Slot: Sendable {
        struct State {
            var call: (@Sendable () throws(KafkaError) -> Void)?
            var outcome: Outcome?
            var isStarted = false
            var isAbandoned = false
        }

        let state = Mutex(State())
        let wake = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)

        func serve() {
            while true {
                wake.wait()
                let (call, isAbandoned) = state.withLock { ($0.call, $0.isAbandoned) }
                guard let call, !isAbandoned else { return }
                let outcome: Outcome
                do throws(KafkaError) { outcome = .success(try call()) } catch { outcome = .failure(error) }
                state.withLock { $0.outcome = outcome }
                done.signal()
            }
        }
    }

    private let slot = Slot()
    private let name: String

    /// The first call starts the thread.
    init(name: String) { self.name = name }

    deinit {
        slot.state.withLock { $0 = Slot.State(isAbandoned: true) }
        slot.wake.signal()
    }

    /// Whether a call has begun and ``outcome(within:)`` has not returned its outcome yet.
    var isBusy: Bool { slot.state.withLock { $0.call != nil } }

    /// Begins a call. None may be in progress.
    func begin(_ call: @escaping @Sendable () throws(KafkaError) -> Void) {
        let isStarted = slot.state.withLock { state in
            defer { (state.call, state.isStarted) = (call, true) }
            return state.isStarted
        }
        if !isStarted { OwnThread.start(name) { [slot] in slot.serve() } }
        slot.wake.signal()
    }

    /// The outcome of the call; nil if it has not returned in time.
    func outcome(within timeout: Duration) -> Outcome? {
        guard slot.done.wait(timeout: timeout.fromNow) == .success else { return nil }
        return slot.state.withLock { state in
            defer { state = Slot.State(isStarted: true) }
            return state.outcome
        }
    }
}
