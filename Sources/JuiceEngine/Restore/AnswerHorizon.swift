/// How far back the answers of a partition have to be read.
///
/// A repeat that is not read yet may ask for any answer that was given less than the retention before the latest command
/// of its topic that stands before it. That is no earlier than the first command that is not read; where all are, no
/// earlier than the latest of those that are. Either may lie far back: what is answered in a backlog is old, and in an
/// outage nothing is answered.
public struct AnswerHorizon {
    /// How many offsets before the end are looked at, of the answers and of what is read: of the last one alone, the time
    /// may be nonsense, or a clock's that is behind.
    public static let lookBack: Offset = 64

    private struct Input {
        var lastRead: Timestamp?
        var firstUnread: Timestamp?
    }

    private let now: Timestamp
    private var lastAnswer: Timestamp?
    private var orders = Input()
    private var restocks = Input()

    /// Nothing is looked at yet, at this time of day.
    public init(now: Timestamp) { self.now = now }

    /// Takes note of one of the last answers.
    public mutating func noteAnswer(at timestamp: Timestamp?) {
        lastAnswer = max(lastAnswer ?? .min, CommandTime.effective(timestamp, readAt: now))
    }

    /// Takes note of a record around the committed offset: of the last before it, or of those from it on, in order.
    public mutating func note(_ topic: InputTopic, at timestamp: Timestamp?, isRead: Bool) {
        switch topic {
        case .orders: note(timestamp, isRead: isRead, &orders)
        case .restocks: note(timestamp, isRead: isRead, &restocks)
        }
    }

    private func note(_ timestamp: Timestamp?, isRead: Bool, _ input: inout Input) {
        let time = CommandTime.effective(timestamp, readAt: now)
        if !isRead {
            input.firstUnread = input.firstUnread ?? time
        } else if time == timestamp {
            // Nonsense counted as the moment of reading, and nothing tells when that was.
            input.lastRead = max(input.lastRead ?? .min, time)
        }
    }

    /// The answers are wanted from this time on.
    public func start(retention: Timestamp) -> Timestamp {
        // What is read may have been sent by a clock that was ahead, but it was answered by the time of the last answer.
        [lastAnswer, orders.firstUnread ?? orders.lastRead, restocks.firstUnread ?? restocks.lastRead]
            .compactMap { $0 }.reduce(now, min) - retention
    }
}
