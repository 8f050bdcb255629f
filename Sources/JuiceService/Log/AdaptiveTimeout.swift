/// How long to wait for a call that librdkafka cannot resume. A slow broker would answer each attempt too late, so each attempt
/// waits longer than the one before.
struct AdaptiveTimeout {
    private(set) var current: Duration
    private let shortest: Duration
    /// How many connections the client had lost when it last got an answer.
    private var closedConnections = 0

    private static let longest = Duration.seconds(8)
    /// Once a connection broke, the broker may be dead, and its successor has to be asked instead.
    private static let longestAfterLoss = Duration.seconds(2)

    init(shortest: Duration = .seconds(1)) { (current, self.shortest) = (shortest, shortest) }

    /// - Parameter closedConnections: how many connections the client has lost since it was made; 0 where that makes no
    ///   difference.
    mutating func timedOut(closedConnections: Int = 0) {
        let isLost = closedConnections != self.closedConnections
        current = min(current * 2, isLost ? Self.longestAfterLoss : Self.longest)
    }

    /// - Parameters:
    ///   - time: how long the answer took. The next one will take about as long.
    ///   - closedConnections: as in ``timedOut(closedConnections:)``.
    mutating func answered(after time: Duration, closedConnections: Int = 0) {
        current = max(shortest, min(current, time * 2))
        self.closedConnections = closedConnections
    }
}
