import Dispatch
import Foundation
import Synchronization

/// Asks threads to stop, and cuts short their waiting.
public final class StopSignal: Sendable {
    private struct State {
        var requestedAt: ContinuousClock.Instant?
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// A signal that nobody gave yet.
    public init() {}

    /// Asks. Asking again changes nothing.
    public func request() {
        let handlers = state.withLock { state in
            defer { state = State(requestedAt: state.requestedAt ?? .now) }
            return state.requestedAt == nil ? state.handlers : nil
        }
        guard let handlers else { return }
        wake.signal()
        for handler in handlers { handler() }
    }

    /// Calls `handler` once threads are asked to stop, which may be now.
    public func onRequest(_ handler: @escaping @Sendable () -> Void) {
        let isRequested = state.withLock { state in
            if state.requestedAt == nil { state.handlers.append(handler) }
            return state.requestedAt != nil
        }
        if isRequested { handler() }
    }

    /// Whether threads were asked to stop.
    public var isRequested: Bool { age != nil }

    /// How long ago threads were asked to stop; nil when they were not.
    public var age: Duration? {
        state.withLock { $0.requestedAt.map { ContinuousClock.now - $0 } }
    }

    /// Waits, but not past the request; after it, for `onceRequested`.
    public func wait(for duration: Duration, onceRequested: Duration = .zero) {
        guard age == nil else { return Thread.sleep(forTimeInterval: onceRequested / .seconds(1)) }
        if wake.wait(timeout: .now() + .milliseconds(Int(duration.milliseconds))) == .success {
            // The signal was for every wait to come, too.
            wake.signal()
        }
    }
}
