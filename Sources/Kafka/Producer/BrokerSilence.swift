/// How long a transaction goes on without a sign of life from any broker.
///
/// A broker that died without a word is noticed by the controller after seconds. librdkafka waits for it as long as the
/// transaction may last, and what other brokers could take waits with it. So a transaction that hears nothing is given up
/// early. A slow broker is not a dead one: after each that was given up, the next waits twice as long.
public final class BrokerSilence {
    private let least: Duration
    private let most: Duration
    /// How long it may last now.
    private(set) var limit: Duration
    private var since = ContinuousClock.now
    /// The longest that ended with a sign of life in the present transaction.
    private var longest = Duration.zero

    /// - Parameters:
    ///   - least: how long a silence may always last.
    ///   - most: how long it may last after others were given up; no transaction should wait for longer.
    public init(least: Duration = .seconds(2), most: Duration = .seconds(10)) {
        (self.least, self.most) = (least, most)
        limit = least
    }

    /// A transaction begins.
    func began(at now: ContinuousClock.Instant = .now) {
        (since, longest) = (now, .zero)
    }

    /// A broker confirmed something.
    func ended(at now: ContinuousClock.Instant = .now) {
        longest = max(longest, now - since)
        since = now
    }

    /// The transaction is committed. Room is left for silences twice as long as those that it had.
    func committed(at now: ContinuousClock.Instant = .now) {
        ended(at: now)
        limit = max(least, min(limit, longest * 2))
    }

    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver`` once it has lasted too long.
    func check(at now: ContinuousClock.Instant = .now) throws(KafkaError) {
        guard now - since >= limit, limit < most else { return }
        let seconds = limit / .seconds(1)
        limit = min(limit * 2, most)
        throw KafkaError(
            code: .timedOut,
            message: "no broker confirmed anything of the transaction for \(seconds) s",
            requiresAbort: true
        )
    }
}
