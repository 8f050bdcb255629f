/// How far back the answers of a partition have to be read.
///
/// A repeat that is not read yet may ask for any answer given less than the retention before the latest command that
/// precedes the repeat in its topic. That command is no older than the first unread one or, if all are read, than the
/// latest read one. Both may lie far back: a backlog is answered late, and in an outage nothing is answered.
public struct AnswerHorizon {
    /// How many offsets to read before the end of the answers and before the position in an input. The last record alone is
    /// not enough: its time may be invalid, or from a clock that is behind.
    public static let lookBack: Offset = 64

    private struct Input {
        var lastRead: Timestamp?
        var firstUnread: Timestamp?
    }

    private let now: Timestamp
    private var lastAnswer: Timestamp?
    private var inputs: [InputTopic: Input] = [:]

    /// No record is added yet.
    ///
    /// - Parameter now: the time of day.
    public init(now: Timestamp) { self.now = now }

    /// Adds one of the last answers.
    public mutating func addAnswer(at timestamp: Timestamp?) {
        lastAnswer = max(lastAnswer ?? .min, CommandTime.effective(timestamp, readAt: now))
    }

    /// Adds one of the last commands before the position.
    public mutating func addRead(_ topic: InputTopic, at timestamp: Timestamp?) {
        let time = CommandTime.effective(timestamp, readAt: now)
        // An invalid time counted as the moment of reading, which is not known any more.
        guard time == timestamp else { return }
        inputs[topic, default: Input()].lastRead = max(inputs[topic]?.lastRead ?? .min, time)
    }

    /// Adds one of the commands from the position on. Only the first of each topic counts.
    public mutating func addUnread(_ topic: InputTopic, at timestamp: Timestamp?) {
        guard inputs[topic]?.firstUnread == nil else { return }
        inputs[topic, default: Input()].firstUnread = CommandTime.effective(timestamp, readAt: now)
    }

    /// The time from which on answers are wanted, in milliseconds since 1970.
    public func start(retention: Timestamp) -> Timestamp {
        // The clock that sent a read command may have been ahead, but the last answer bounds when it was answered.
        let times = inputs.values.map { $0.firstUnread ?? $0.lastRead } + [lastAnswer]
        return times.compactMap { $0 }.reduce(now, min) - retention
    }
}
