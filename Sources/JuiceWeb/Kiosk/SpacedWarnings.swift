import Logging
import Synchronization

/// Warnings that strangers can provoke without limit: each is logged at most once in a while. The metrics count all of them.
final class SpacedWarnings: Sendable {
    private let logger: Logger
    private let pause: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let warnedAt = Mutex<[String: ContinuousClock.Instant]>([:])

    /// - Parameter pause: how long the same text is not logged again.
    init(
        _ logger: Logger, every pause: Duration = .seconds(1), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (self.logger, self.pause, self.now) = (logger, pause, now)
    }

    /// - Parameter text: one of few texts, because each is remembered. What varies belongs in the metadata.
    func warn(_ text: String, _ metadata: Logger.Metadata = [:]) {
        let now = now()
        let isDue = warnedAt.withLock { warnedAt in
            if let last = warnedAt[text], now - last < pause { return false }
            warnedAt[text] = now
            return true
        }
        if isDue { logger.warning("\(text)", metadata: metadata) }
    }

    /// The warnings that still recur, if they do so within a pause.
    var current: [String] {
        let now = now()
        return warnedAt.withLock { $0.filter { now - $0.value < pause * 2 }.keys.sorted() }
    }
}
