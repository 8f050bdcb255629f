/// When a command was sent: its record's timestamp, if that is plausible.
package enum CommandTime {
    /// The longest that a command can stay unread, in milliseconds: Kafka's default retention.
    package static let longestUnread: Timestamp = 7 * 24 * 3_600_000

    /// The time of a record's timestamp, or of reading if that is in the future, older than ``longestUnread`` or missing.
    @inline(__always)
    package static func effective(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp {
        believed(timestamp, readAt: now) ?? now
    }

    /// The time of a record's timestamp, which the sender may set to anything; nil if it is implausible or missing.
    @inline(__always)
    package static func believed(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp? {
        guard let timestamp, timestamp <= now, timestamp >= now &- longestUnread else { return nil }
        return timestamp
    }
}

/// The time from which on a partition's answers must be known, so that repeats which are not read yet find theirs.
///
/// A repeat may come late: in an outage nothing is handled, and a backlog is handled late. So this is the retention before the
/// first unread command or, if it is earlier, before the last command was handled. Position notes and claims do not count.
package enum AnswerRestoreTime {
    /// - Parameters:
    ///   - now: the time of day.
    ///   - handledAt: when the last record was handled; nil if none was.
    ///   - firstUnread: when the next commands were sent, at the earliest; nil if there are none.
    ///   - retention: how long a repeat may come after its command, in milliseconds.
    package static func start(
        now: Timestamp, handledAt: Timestamp?, firstUnread: Timestamp?, retention: Timestamp
    ) -> Timestamp { min(now, handledAt ?? now, firstUnread ?? now) - retention }
}
