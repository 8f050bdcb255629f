/// How long a transaction goes on while no broker confirms anything.
///
/// The controller takes seconds to notice that a broker has died. librdkafka waits for that broker as long as the transaction
/// may last, and requests to other brokers wait with it. So a transaction is given up early if it hears nothing after a
/// connection broke. If its connections are intact, a broker is merely slow, and the transaction waits for it. A broker that is
/// shutting down may hold a request for seconds before it closes the connection, and another broker answers soon after that. So
/// time counts from when the connection broke.
public final class BrokerSilence {
    /// What has become of a client's connections since it got its transactional id, or since its last commit.
    enum Connections {
        case intact
        case broken
    }

    private let least: Duration
    private let most: Duration
    /// How long a silence may last once a connection has broken.
    private(set) var limit: Duration
    private var since = ContinuousClock.now
    /// When a connection was first found broken in the current transaction.
    private var brokenSince: ContinuousClock.Instant?
    /// The longest silence of the current transaction that a confirmation ended.
    private var longest = Duration.zero

    /// - Parameters:
    ///   - least: how long a silence may last after a connection broke. Each time one lasts too long, the limit doubles.
    ///   - most: how long a silence may last in any case. It exceeds the transaction timeout, so that librdkafka can report
    ///     what happened, and is needed because some of its calls may never return.
    public init(least: Duration = .seconds(2), most: Duration = .seconds(20)) {
        (self.least, self.most) = (least, most)
        limit = least
    }

    /// A transaction begins.
    func began(at now: ContinuousClock.Instant = .now) {
        (since, brokenSince, longest) = (now, nil, .zero)
    }

    /// A broker confirmed something.
    func confirmed(at now: ContinuousClock.Instant = .now) {
        longest = max(longest, now - since)
        since = now
    }

    /// The transaction is committed. The limit falls again, but to no less than twice its longest silence.
    func committed(at now: ContinuousClock.Instant = .now) {
        confirmed(at: now)
        limit = max(least, min(limit, longest * 2))
    }

    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver`` once the silence has lasted too long:
    ///   ``KafkaError/Code/transport`` if a connection broke, or else ``KafkaError/Code/timedOut``.
    func check(_ connections: Connections, at now: ContinuousClock.Instant = .now) throws(KafkaError) {
        if connections == .broken { brokenSince = brokenSince ?? now }
        let limit = brokenSince == nil ? most : self.limit
        let silence = now - since
        guard now - max(since, brokenSince ?? since) >= limit || silence >= most else { return }
        if brokenSince != nil { self.limit = min(limit * 2, most) }
        let seconds = (silence / .milliseconds(100)).rounded() / 10
        throw KafkaError(
            code: brokenSince == nil ? .timedOut : .transport,
            message: "no broker confirmed anything of the transaction for \(seconds) s", requiresAbort: true)
    }
}
