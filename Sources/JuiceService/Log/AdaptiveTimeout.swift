/// How long a call waits that librdkafka cannot resume. From a slow broker each attempt would have its answer too late, so each
/// waits longer than the one before.
struct AdaptiveTimeout {
    private(set) var current = shortest

    static let shortest = Duration.seconds(1)
    private static let longest = Duration.seconds(8)
    /// The broker that is waited for may be dead, and its successor has to be asked instead.
    private static let longestAfterLoss = Duration.seconds(2)

    /// - Parameter isConnectionLost: whether a connection was closed since the last answer.
    mutating func timedOut(isConnectionLost: Bool) {
        current = min(current * 2, isConnectionLost ? Self.longestAfterLoss : Self.longest)
    }

    mutating func answered() { current = max(Self.shortest, current / 2) }
}
