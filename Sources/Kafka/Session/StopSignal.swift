import Dispatch
import Foundation
import Synchronization

/// Asks threads to stop, and cuts short their waits.
public final class StopSignal: Sendable {
    private struct State {
        var requestedAt: ContinuousClock.Instant?
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// A signal that has not been given.
    public init() {}

    /// Asks threads to stop. Asking again has no effect.
    public func request() {
        let handlers = state.withLock { state in
            defer { state = State(requestedAt: state.requestedAt ?? .now) }
            return state.requestedAt == nil ? state.handlers : nil
        }
        guard let handlers else { return }
        wake.signal()
        for handler in handlers { handler() }
    }

    /// Calls `handler` once when threads are asked to stop, or at once if they already are.
    public func onRequest(_ handler: @escaping @Sendable () -> Void) {
        let isRequested = state.withLock { state in
            if state.requestedAt == nil { state.handlers.append(handler) }
            return state.requestedAt != nil
        }
        if isRequested { handler() }
    }

    /// Whether threads have been asked to stop.
    public var isRequested: Bool { age != nil }

    /// How long ago threads were asked to stop; nil if they were not.
    public var age: Duration? {
        state.withLock { $0.requestedAt.map { ContinuousClock.now - $0 } }
    }

    /// Waits for `duration` or until the request, whichever comes first. After the request, waits for `onceRequested`.
    public func wait(for duration: Duration, onceRequested: Duration = .zero) {
        guard age == nil else { return Thread.sleep(forTimeInterval: onceRequested / .seconds(1)) }
        if wake.wait(timeout: .now() + .milliseconds(Int(duration.milliseconds))) == .success {
            // For the next wait.
            wake.signal()
        }
    }
}
