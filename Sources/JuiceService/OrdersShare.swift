/// Decides what to do about an assignment without orders. The range assignor gives a member that subscribes to both inputs orders
/// along with restocks. So either the assignment is outdated, or another program in the group has the orders. In the latter case,
/// rejoining would only make the whole group rebalance.
struct OrdersShare {
    enum Action { case accept, wait, rejoin, warnOfOthers }

    /// Whether the assignment dates from before the member subscribed to an existing orders topic. Either a broker answered that
    /// the topic does not exist (librdkafka does not always rejoin when it comes back), or a killed static member came back with
    /// other topics and got its former assignment (KIP-345). Each time, the member rejoins once.
    var isOutdated = false
    private var hasWarnedOfOthers = false
    private var pause = Duration.seconds(5)
    private var rejoinsFrom: ContinuousClock.Instant?

    /// - Parameter isDue: whether the assignor would have given this member orders if it had subscribed to them.
    mutating func assigned(isDue: Bool, hasOrders: Bool, at now: ContinuousClock.Instant = .now) -> Action {
        if hasOrders { self = OrdersShare() }
        guard isDue, !hasOrders else { return .accept }
        guard isOutdated else {
            defer { hasWarnedOfOthers = true }
            return hasWarnedOfOthers ? .accept : .warnOfOthers
        }
        if let rejoinsFrom, now < rejoinsFrom { return .wait }
        (isOutdated, rejoinsFrom, pause) = (false, now + pause, min(pause * 2, .seconds(300)))
        return .rejoin
    }
}
