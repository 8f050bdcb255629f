/// Decides about an assignment without orders. The range assignor gives a member that subscribes to both inputs orders along with
/// restocks. So either the assignment is outdated, or another program in the group has them, and joining again would only make the
/// whole group rebalance.
struct OrdersShare {
    enum Action { case accept, wait, rejoin, warnOfOthers }

    /// Whether the assignment is from before the member subscribed to orders that exist: a broker answered that they do not, and
    /// librdkafka does not always join again when the topic comes back; or a static member that was killed comes back with other
    /// topics, and gets its former assignment (KIP-345). Each time makes the member join again once.
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
