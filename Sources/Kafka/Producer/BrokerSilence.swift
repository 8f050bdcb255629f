/// How long a transaction goes on without a sign of life from any broker.
///
/// A broker that died without a word is noticed by the controller after seconds. librdkafka waits for it as long as the
/// transaction may last, and what other brokers could take waits with it. So a transaction that hears nothing after a
/// connection broke is given up early. What hears nothing over sound connections has a slow broker, and is waited for.
public final class BrokerSilence {
    private let least: Duration
    private let most: Duration
    /// How long it may last once a connection broke.
    private(set) var limit: Duration
    private var since = ContinuousClock.now
    /// The longest that ended with a sign of life in the present transaction.
    private var longest = Duration.zero

    /// - Parameters:
    ///   - least: how long a silence may last after a connection broke. After each that was given up, the next may last twice
    ///     as long.
    ///   - most: how long it may last at all: longer than a transaction may, so that librdkafka can say what happened. But some
    ///     of its calls may never end.
    public init(least: Duration = .seconds(2), most: Duration = .seconds(20)) {
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

    /// - Parameter isConnectionLost: whether one broke since the last commit.
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver`` once it has lasted too long.
    func check(isConnectionLost: Bool, at now: ContinuousClock.Instant = .now) throws(KafkaError) {
        let allowed = isConnectionLost ? limit : most
        guard now - since >= allowed else { return }
        if isConnectionLost { limit = min(limit * 2, most) }
        throw KafkaError(
            code: .timedOut,
            message: "no broker confirmed anything of the transaction for \(allowed / .seconds(1)) s",
            requiresAbort: true
        )
    }
}
