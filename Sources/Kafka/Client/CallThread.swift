import Dispatch
import Foundation
import Synchronization

/// A thread for a call of librdkafka's that may take longer than it was told, so that it can be left behind.
///
/// It makes one call at a time. Let go of in the middle of one, it ends with that call, and what the call holds on to is
/// freed then.
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
                do throws(KafkaError) {
                    outcome = .success(try call())
                } catch {
                    outcome = .failure(error)
                }
                state.withLock { $0.outcome = outcome }
                done.signal()
            }
        }
    }

    private let slot = Slot()
    private let name: String

    /// The thread is started by the first call.
    init(name: String) { self.name = name }

    deinit {
        slot.state.withLock { $0 = Slot.State(isAbandoned: true) }
        slot.wake.signal()
    }

    /// Whether a call was begun of which the outcome was not taken.
    var isBusy: Bool { slot.state.withLock { $0.call != nil } }

    /// Begins a call, where none is under way.
    func begin(_ call: @escaping @Sendable () throws(KafkaError) -> Void) {
        let isStarted = slot.state.withLock { state in
            defer { (state.call, state.isStarted) = (call, true) }
            return state.isStarted
        }
        if !isStarted {
            let thread = Thread { [slot] in slot.serve() }
            thread.name = name
            thread.start()
        }
        slot.wake.signal()
    }

    /// What came of the call; nil where it has not ended in time.
    func outcome(within timeout: Duration) -> Outcome? {
        guard slot.done.wait(timeout: .now() + .milliseconds(Int(timeout.milliseconds))) == .success else {
            return nil
        }
        return slot.state.withLock { state in
            defer { state = Slot.State(isStarted: true) }
            return state.outcome
        }
    }
}
