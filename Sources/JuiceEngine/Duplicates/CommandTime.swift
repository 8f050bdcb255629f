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

/// The time from which on a partition's answers must be restored, so that repeats which are not read yet find theirs.
///
/// Answers age by the timestamps of the commands in the same topic, not by the clock: a backlog is answered late, and in an outage
/// nothing is answered. So the time is the retention before the first unread command or, if all are read, before the last read one.
package struct AnswerRestoreTime {
    /// How many offsets to look at before the end of the answers, and before the position in an input. One record is not enough:
    /// its timestamp may be invalid, or of a clock that is behind.
    package static let lookBack: Offset = 64

    private let now: Timestamp
    private var lastAnswer: Timestamp?
    private var lastRead: [InputTopic: Timestamp] = [:]
    private var firstUnread: [InputTopic: Timestamp] = [:]

    /// - Parameter now: the time of day, which counts if no record is added.
    package init(now: Timestamp) { self.now = now }

    /// Adds one of the last answers.
    package mutating func addAnswer(at timestamp: Timestamp?) {
        lastAnswer = max(lastAnswer ?? .min, CommandTime.effective(timestamp, readAt: now))
    }

    /// Adds one of the last commands before the position.
    package mutating func addRead(_ topic: InputTopic, at timestamp: Timestamp?) {
        // An invalid time counted as the moment of reading, which is not known any more.
        guard let time = CommandTime.believed(timestamp, readAt: now) else { return }
        lastRead[topic] = max(lastRead[topic] ?? .min, time)
    }

    /// Adds one of the commands from the position on. Only the first of each topic counts.
    package mutating func addUnread(_ topic: InputTopic, at timestamp: Timestamp?) {
        if firstUnread[topic] == nil { firstUnread[topic] = CommandTime.effective(timestamp, readAt: now) }
    }

    /// The time from which on answers are needed.
    package func start(retention: Timestamp) -> Timestamp {
        // The clock that sent a read command may have been ahead, but the last answer bounds when it was answered.
        let times = InputTopic.allCases.map { firstUnread[$0] ?? lastRead[$0] } + [lastAnswer]
        return times.compactMap { $0 }.reduce(now, min) - retention
    }
}
