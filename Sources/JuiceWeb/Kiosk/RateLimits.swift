import Logging
import Synchronization

/// Limits how many orders a second are accepted: a token bucket that holds ten seconds' worth. Resent orders count again.
///
/// The limit bounds how many ids strangers can push out of the service's duplicate memory: by default at most 360,000 an hour, of
/// 1,000,000 per partition. To share it out among clients is a reverse proxy's part.
final class OrderRateLimiter: Sendable {
    /// How long an empty bucket takes to fill.
    private static let span = Duration.seconds(10)

    private let perSecond: Int
    /// When the bucket will be full again; nil if it always was.
    private let fullAt = Mutex(ContinuousClock.Instant?.none)
    private let log: SpacedWarning
    private let now: @Sendable () -> ContinuousClock.Instant

    init(perSecond: Int, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.perSecond, self.now) = (perSecond, now)
        log = SpacedWarning(logger)
    }

    /// Throws ``Refusal`` if the order has to wait. The address of the peer is for the log.
    func admit(from peer: String) throws(Refusal) {
        let now = now()
        let wait = fullAt.withLock { fullAt in
            let full = max(fullAt ?? now, now) + .seconds(1) / perSecond
            let wait = now.duration(to: full) - Self.span
            if wait <= .zero { fullAt = full }
            return wait
        }
        guard wait > .zero else { return }
        log.warn("too many orders a second", of: peer, at: now)
        throw .tooManyOrders(wait: wait)
    }
}

/// A warning that strangers can provoke without limit: at most one line a second. The metrics count all refusals.
final class SpacedWarning: Sendable {
    private let logger: Logger
    private let warnedAt = Mutex(ContinuousClock.Instant?.none)

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameter peer: the address at the other end of the connection.
    func warn(_ message: Logger.Message, of peer: String, _ more: Logger.Metadata = [:], at now: ContinuousClock.Instant = .now) {
        let isDue = warnedAt.withLock { warnedAt in
            if let last = warnedAt, now - last < .seconds(1) { return false }
            warnedAt = now
            return true
        }
        if isDue { logger.warning(message, metadata: more.merging(["address": "\(peer)"]) { $1 }) }
    }
}
