/// How long a transaction goes on while no broker confirms anything.
///
/// librdkafka waits for a dead broker for as long as the transaction may last, and requests to other brokers wait with it. So a
/// transaction is given up early if no answer arrives after a connection broke. A broker whose connections are intact is just slow.
/// A broker that is shutting down may hold a request for seconds before it closes the connection, and another broker answers soon
/// after that. So time counts from when the connection broke.
struct InactivityTimeout {
    private let least: Duration
    private let most: Duration
    /// How long the inactivity may last once a connection has broken.
    private var limit: Duration
    private var since = ContinuousClock.now
    /// When a connection was first found broken in the current transaction.
    private var brokenSince: ContinuousClock.Instant?
    /// The longest inactivity of the current transaction that a confirmation ended.
    private var longest = Duration.zero

    /// `least` is the limit after a connection broke; each transaction that is given up doubles it. `most` is the limit in any
    /// case, since some librdkafka calls never return; it exceeds the transaction timeout, so that librdkafka can report the cause.
    init(least: Duration, most: Duration = .seconds(20)) { (self.least, self.most, limit) = (least, most, least) }

    mutating func began(at now: ContinuousClock.Instant = .now) { (since, brokenSince, longest) = (now, nil, .zero) }

    mutating func confirmed(at now: ContinuousClock.Instant = .now) {
        longest = max(longest, now - since)
        since = now
    }

    /// The transaction is committed. The limit falls to twice its longest inactivity, but not below `least`.
    mutating func committed(at now: ContinuousClock.Instant = .now) {
        confirmed(at: now)
        limit = max(least, min(limit, longest * 2))
    }

    mutating func check(connectionBroke: Bool, at now: ContinuousClock.Instant = .now) throws(KafkaError) {
        if connectionBroke { brokenSince = brokenSince ?? now }
        let inactivity = now - since
        guard now - max(since, brokenSince ?? since) >= (brokenSince == nil ? most : limit) || inactivity >= most else { return }
        if brokenSince != nil { limit = min(limit * 2, most) }
        let seconds = (inactivity / .milliseconds(100)).rounded() / 10
        throw KafkaError(
            code: brokenSince == nil ? .timedOut : .transport,
            message: "no broker confirmed anything of the transaction for \(seconds) s", requiresAbort: true)
    }
}
