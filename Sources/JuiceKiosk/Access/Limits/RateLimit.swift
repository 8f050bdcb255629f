/// So many a second, and ten seconds' worth at once: a token bucket.
///
/// Of a bucket itself one moment is kept, that at which it is full again. One of which nothing is known is full.
struct RateLimit: Sendable {
    /// How long it takes an empty bucket to be full.
    static let span = Duration.seconds(10)

    /// At least 1.
    let perSecond: Int

    /// How long to wait until one more may pass; nothing or less when it may now.
    func wait(_ fullAt: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Duration {
        now.duration(to: passing(fullAt, now: now)) - Self.span
    }

    /// When the bucket is full again after one more has passed.
    func passing(
        _ fullAt: ContinuousClock.Instant?,
        now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        max(fullAt ?? now, now) + .seconds(1) / perSecond
    }
}
