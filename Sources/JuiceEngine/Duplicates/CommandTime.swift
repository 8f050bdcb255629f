/// When a command was sent, as far as its record can be believed.
public enum CommandTime {
    /// No command lies unread for longer: it is Kafka's default for how long a topic keeps a record. In milliseconds.
    static let longestUnread: Timestamp = 7 * 24 * 3_600_000

    /// The time of a record's timestamp. One that lies in the future or further back than any command lies unread is
    /// nonsense, and counts as the moment of reading, as does none.
    ///
    /// - Parameters:
    ///   - timestamp: any number whatever, by the sender's word.
    ///   - now: the time of day of the reader.
    @inline(__always)
    public static func effective(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp {
        believed(timestamp, readAt: now) ?? now
    }

    /// The time of a record's timestamp; nil where that is nonsense, or where there is none.
    @inline(__always)
    public static func believed(_ timestamp: Timestamp?, readAt now: Timestamp) -> Timestamp? {
        guard let timestamp, timestamp <= now, timestamp >= now &- longestUnread else { return nil }
        return timestamp
    }
}
