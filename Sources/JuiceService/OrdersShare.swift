/// Decides about an assignment without orders. The range assignor gives a member that subscribes to both inputs orders along with
/// restocks. So either the topic did not exist when it joined, which librdkafka reports, though it does not always join again when
/// the topic comes back; or another program in the group has them, and joining again would only make the whole group rebalance.
struct OrdersShare {
    enum Action { case accept, wait, rejoin, warnOfOthers }

    /// Whether a broker answered that orders do not exist. Each such answer makes the member join again once.
    var areMissing = false
    private var hasWarnedOfOthers = false
    private var pause = Duration.seconds(5)
    private var rejoinsFrom: ContinuousClock.Instant?

    /// - Parameter isDue: whether the assignor would have given this member orders if it had subscribed to them.
    mutating func assigned(isDue: Bool, hasOrders: Bool, at now: ContinuousClock.Instant = .now) -> Action {
        if hasOrders { self = OrdersShare() }
        guard isDue, !hasOrders else { return .accept }
        guard areMissing else {
            defer { hasWarnedOfOthers = true }
            return hasWarnedOfOthers ? .accept : .warnOfOthers
        }
        if let rejoinsFrom, now < rejoinsFrom { return .wait }
        (areMissing, rejoinsFrom, pause) = (false, now + pause, min(pause * 2, .seconds(300)))
        return .rejoin
    }
}
