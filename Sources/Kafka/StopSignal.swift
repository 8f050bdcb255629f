import Foundation
import Synchronization

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
