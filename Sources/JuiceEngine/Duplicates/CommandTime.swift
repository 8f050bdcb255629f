/// When a command was sent, as far as its record's timestamp is plausible.
public enum CommandTime {
    /// The longest that a command can stay unread, in milliseconds: Kafka's default retention.
    public static let longestUnread: Timestamp = 7 * 24 * 3_600_000

    /// The time of a record's timestamp. If it is in the future, older than ``longestUnread`` or missing, the time of reading
    /// counts instead.
    ///
    /// - Parameters:
    ///   - timestamp: the record's timestamp, which the sender may set to anything.
    ///   - now: the reader's time of day.
    @inline(__always)
    public static func effective(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp {
        believed(timestamp, readAt: now) ?? now
    }

    /// The time of a record's timestamp; nil if it is implausible or missing.
    @inline(__always)
    public static func believed(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp? {
        guard let timestamp, timestamp <= now, timestamp >= now &- longestUnread else { return nil }
        return timestamp
    }
}
