import JuiceMessages

/// Schedules a worker's periodic tasks.
struct Timers {
    /// How often positions are published, in milliseconds.
    private static let publishInterval: Timestamp = 1_000
    /// How often the logs are checked.
    private static let checkInterval: Timestamp = 3_000
    /// How long a worker waits for the next command before it writes the stock that the last ones changed.
    private static let quietTime: Timestamp = 20

    private var publishedAt = Timestamp.min / 2
    private var (checkedAt, nextCheck) = (Timestamp.min / 2, Timestamp.min / 2)
    private var committedAt = Timestamp.min / 2
    var hasUnpublished = false

    mutating func committed(at now: Timestamp, commands: Int) {
        committedAt = now
        hasUnpublished = hasUnpublished || commands > 0
    }

    /// A takeover found new positions, and has just looked at the logs.
    mutating func tookOver(at now: Timestamp) {
        checked(at: now)
        (committedAt, hasUnpublished) = (now, true)
    }

    mutating func checked(at now: Timestamp) {
        checkedAt = now
        postponeCheck(at: now)
    }

    /// Makes the next check due when it would be after one that succeeded.
    mutating func postponeCheck(at now: Timestamp) { nextCheck = now + Self.checkInterval }

    func isCheckDue(at now: Timestamp) -> Bool { now > nextCheck }

    func isCheckOverdue(at now: Timestamp, _ settings: WorkerSettings) -> Bool { now - checkedAt > settings.longestUnchecked }

    mutating func isPublishDue(at now: Timestamp) -> Bool {
        guard hasUnpublished, now - publishedAt > Self.publishInterval else { return false }
        (publishedAt, hasUnpublished) = (now, false)
        return true
    }

    /// Whether no transaction was committed for a moment.
    func isQuiet(at now: Timestamp) -> Bool { now - committedAt >= Self.quietTime }
}
