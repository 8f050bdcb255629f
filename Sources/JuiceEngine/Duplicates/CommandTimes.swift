import JuiceMessages

/// When commands were sent: their records' timestamps, as far as these are plausible.
///
/// Brokers judge the clocks of the senders, by the inputs' limits (KIP-937). Where a limit is in force, this machine's clock does
/// not count: it may be the one that is wrong. Without the limit, there is no other clock to judge by.
package struct CommandTimes: Sendable, Equatable {
    /// Whether brokers refuse times further ahead of their own than ``furthestAhead``, and those too far behind.
    private let limitsAhead, limitsBehind: Bool

    /// How far a sender's clock may be ahead of the brokers', in milliseconds.
    package static let furthestAhead: Timestamp = 3_600_000
    /// The longest that a command can stay unread, in milliseconds: Kafka's default retention.
    package static let longestUnread: Timestamp = 7 * 24 * 3_600_000
    /// The end of the year 2248, so that no arithmetic of times overflows.
    private static let last: Timestamp = 1 << 43

    package init(limitsAhead: Bool = false, limitsBehind: Bool = false) {
        (self.limitsAhead, self.limitsBehind) = (limitsAhead, limitsBehind)
    }

    /// Whether this machine's clock does not count at all.
    package var isJudgedByBrokers: Bool { limitsAhead && limitsBehind }

    /// A record's timestamp, or the time of reading if it is implausible or missing.
    @inline(__always)
    package func effective(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp { believed(timestamp, readAt: now) ?? now }

    /// A record's timestamp, which the sender may set to anything; nil if it is implausible or missing.
    @inline(__always)
    package func believed(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp? {
        guard let timestamp else { return nil }
        if timestamp > now { return limitsAhead && timestamp <= Self.last ? timestamp : nil }
        if timestamp < now &- Self.longestUnread { return limitsBehind && timestamp >= 0 ? timestamp : nil }
        return timestamp
    }
}

/// The time from which a partition's answers must be known, so that unread repeats find their first answers.
///
/// A repeat may come late: in an outage nothing is handled, and a backlog is handled late. So this is the retention before the
/// first unread command or, if it is earlier, before the last handled command. Position notes and claims do not count.
package enum AnswerRestoreTime {
    /// - Parameters:
    ///   - now: the time of day.
    ///   - handledAt: when the last handled command was sent; nil if there is none. Not when its answer was written: if that clock
    ///     was ahead and the present one is, too, no answer might seem to be needed.
    ///   - firstUnread: when the next commands were sent, at the earliest; nil if there are none.
    ///   - retention: how long a repeat may come after its command, in milliseconds.
    package static func start(
        now: Timestamp, handledAt: Timestamp?, firstUnread: Timestamp?, retention: Timestamp
    ) -> Timestamp { min(now, handledAt ?? now, firstUnread ?? now) - retention }
}
