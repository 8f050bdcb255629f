/// When the commands of one partition were sent. By these times the contract says which repeats must be recognised.
///
/// The window counts from the first command's timestamp to its repeat's. A timestamp in the future, more than seven days old
/// or missing counts as the moment of reading. The topics do not show that moment; the time of the answer stands in for it.
///
/// A repeat sent within the window may arrive late. It must be recognised until the window and the delay allowed by the
/// contract are over, both by the clock of the answers and by the commands before it: in an outage or a backlog one advances
/// without the other.
struct SendTimes {
    /// What is known of a command when it is answered.
    struct Moment {
        var sent: Int64
        let answered: Int64
        /// The latest send time so far: for a first command among the first ones of its topic, for a repeat among all records
        /// of its topic.
        var latest: Int64
    }

    private struct Topic {
        let records: [AuditRecord]
        var readCount = 0
        var latest = Int64.min
        var latestFirst = Int64.min
    }

    private let rules: AuditRules
    private var orders: Topic
    private var restocks: Topic

    init(_ topics: AuditTopics, partition: Int, _ rules: AuditRules) {
        func topic(_ partitions: [[AuditRecord]]) -> Topic {
            Topic(records: partitions.indices.contains(partition) ? partitions[partition] : [])
        }
        self.rules = rules
        (orders, restocks) = (topic(topics.orders), topic(topics.restocks))
    }

    static func effective(_ timestamp: Int64, readAt time: Int64) -> Int64 {
        (time &- Contract.oldestTimestamp...time).contains(timestamp) ? timestamp : time
    }

    /// Reads on to a command that is answered at `time`.
    ///
    /// Records before it without an answer here were read earlier, so their effective times are never underestimated.
    mutating func read(_ command: Command, answeredAt time: Int64) -> Moment {
        command.kind == .restock
            ? Self.read(&restocks, command, answeredAt: time) : Self.read(&orders, command, answeredAt: time)
    }

    private static func read(_ topic: inout Topic, _ command: Command, answeredAt time: Int64) -> Moment {
        while topic.readCount <= command.index {
            let sent = effective(topic.records[topic.readCount].timestamp, readAt: time)
            topic.latest = max(topic.latest, sent)
            topic.readCount += 1
        }
        let sent = effective(topic.records[command.index].timestamp, readAt: time)
        return Moment(sent: sent, answered: time, latest: topic.latest)
    }

    /// The moment to remember for a first answer.
    mutating func first(_ moment: Moment, of kind: CommandKind) -> Moment {
        kind == .restock ? Self.first(&restocks, moment) : Self.first(&orders, moment)
    }

    private static func first(_ topic: inout Topic, _ moment: Moment) -> Moment {
        topic.latestFirst = max(topic.latestFirst, moment.sent)
        var first = moment
        first.latest = topic.latestFirst
        return first
    }

    /// Whether a repeat must be recognised after the time that passed.
    func isWithinWindow(_ first: Moment, _ repetition: Moment) -> Bool {
        let retention = rules.memoryWindow + min(rules.memoryWindow, Contract.longestDelay)
        let passed = min(repetition.answered - first.answered, repetition.latest - first.latest)
        return repetition.sent - first.sent <= rules.memoryWindow && passed <= retention
    }
}
