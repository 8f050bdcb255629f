/// When a worker is to do what it does now and then.
struct Timers {
    /// How often positions are published, in milliseconds.
    private static let publishInterval: Timestamp = 1_000
    /// How often the logs are checked.
    private static let checkInterval: Timestamp = 3_000
    /// A worker that has not looked at the logs for so long has stood still. A transaction times out earlier, and a session of the
    /// group later: until then nobody else has its partitions.
    private static let longestUnchecked: Timestamp = 12_000
    /// How long a worker waits for the next command before it writes the stock that the last ones changed.
    private static let quietTime: Timestamp = 20

    private var publishedAt = Timestamp.min / 2
    private var checkedAt = Timestamp.min / 2
    private var committedAt = Timestamp.min / 2
    var hasUnpublished = false

    mutating func committed(at now: Timestamp, commands: Int) {
        committedAt = now
        hasUnpublished = hasUnpublished || commands > 0
    }

    /// New positions are known, and the logs have just been looked at.
    mutating func tookOver(at now: Timestamp) { (checkedAt, committedAt, hasUnpublished) = (now, now, true) }

    mutating func checked(at now: Timestamp) { checkedAt = now }

    func isCheckDue(at now: Timestamp) -> Bool { now - checkedAt > Self.checkInterval }

    func isCheckOverdue(at now: Timestamp) -> Bool { now - checkedAt > Self.longestUnchecked }

    mutating func isPublishDue(at now: Timestamp) -> Bool {
        guard hasUnpublished, now - publishedAt > Self.publishInterval else { return false }
        (publishedAt, hasUnpublished) = (now, false)
        return true
    }

    /// Whether no transaction was committed for a moment.
    func isQuiet(at now: Timestamp) -> Bool { now - committedAt >= Self.quietTime }
}
