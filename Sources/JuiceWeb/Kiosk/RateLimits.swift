import Logging
import Synchronization

/// Limits how many orders a second are accepted: a token bucket that holds ten seconds' worth. Resent orders count again.
///
/// The limit bounds how many ids strangers can push out of the service's duplicate memory: by default at most 360,000 an hour, of
/// 1,000,000 per partition. Only a reverse proxy can share it out among clients.
final class OrderRateLimiter: Sendable {
    /// How long an empty bucket takes to fill.
    private static let span = Duration.seconds(10)

    private let perSecond: Int
    /// When the bucket will be full again; nil if it always was.
    private let fullAt = Mutex(ContinuousClock.Instant?.none)
    private let log: SpacedWarnings
    private let now: @Sendable () -> ContinuousClock.Instant

    init(perSecond: Int, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.perSecond, self.now) = (perSecond, now)
        log = SpacedWarnings(logger, now: now)
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
        log.warn("too many orders a second", ["address": "\(peer)"])
        throw .tooManyOrders(wait: wait)
    }
}
