/// Notices transactions that had to wait for something that those before did not wait for.
///
/// No call tells that a broker has gone, and a cluster may be slow all the time. But librdkafka waits for half a second before it
/// looks for a new coordinator, so a transaction that met a broker that has gone stands out.
struct TransactionPace {
    /// How long the last transaction took.
    private var last = Duration.zero

    /// A transaction that takes no longer than this found all brokers at work.
    private static let usual = Duration.milliseconds(400)

    /// - Returns: whether a transaction that took so long was disturbed.
    mutating func isDisturbed(after duration: Duration) -> Bool {
        defer { last = duration }
        return duration > Self.usual && duration > last * 2
    }
}
