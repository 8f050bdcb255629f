import Dispatch
import Synchronization

/// Asks one thread to stop, and cuts short its waiting.
final class StopSignal: Sendable {
    private let requestedAt = Mutex<ContinuousClock.Instant?>(nil)
    private let wake = DispatchSemaphore(value: 0)

    /// Asks. Asking again changes nothing.
    func request() {
        let isFirst = requestedAt.withLock { instant in
            defer { instant = instant ?? .now }
            return instant == nil
        }
        if isFirst { wake.signal() }
    }

    /// How long ago the thread was asked to stop; nil when it was not.
    var age: Duration? {
        requestedAt.withLock { $0.map { ContinuousClock.now - $0 } }
    }

    /// Waits, but not past the request.
    func wait(for duration: Duration) {
        guard age == nil else { return }
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        if wake.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success {
            // The signal was for every wait to come, too.
            wake.signal()
        }
    }
}
