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
        let sent: Int64
        let answered: Int64
        /// The latest send time so far: for a first command among the first ones of its kind, for a repeat among all records
        /// of its topic.
        var latest: Int64
    }

    private let rules: AuditRules
    private let records: [[AuditRecord]]
    private var readCounts: [Int]
    private var latest: [Int64]
    private var latestFirst: [Int64]

    init(_ topics: AuditTopics, partition: Int, _ rules: AuditRules) {
        self.rules = rules
        records = CommandKind.allCases.map { kind in
            let partitions = topics[kind.topic]
            return partitions.indices.contains(partition) ? partitions[partition] : []
        }
        readCounts = records.map { _ in 0 }
        latest = records.map { _ in .min }
        latestFirst = latest
    }

    static func effective(_ timestamp: Int64, readAt time: Int64) -> Int64 {
        (time &- Contract.oldestTimestamp...time).contains(timestamp) ? timestamp : time
    }

    /// Reads on to a command that is answered at `time`.
    ///
    /// Records before it without an answer here were read earlier, so their effective times are never underestimated.
    mutating func read(_ command: Command, _ kind: CommandKind, answeredAt time: Int64) -> Moment {
        let index = kind.rawValue
        while readCounts[index] <= command.index {
            let sent = Self.effective(records[index][readCounts[index]].timestamp, readAt: time)
            latest[index] = max(latest[index], sent)
            readCounts[index] += 1
        }
        let sent = Self.effective(records[index][command.index].timestamp, readAt: time)
        return Moment(sent: sent, answered: time, latest: latest[index])
    }

    /// The moment to remember for a first answer.
    mutating func first(_ moment: Moment, _ kind: CommandKind) -> Moment {
        latestFirst[kind.rawValue] = max(latestFirst[kind.rawValue], moment.sent)
        var first = moment
        first.latest = latestFirst[kind.rawValue]
        return first
    }

    /// Whether a repeat must be recognised after the time that passed.
    func isWithinWindow(_ first: Moment, _ repetition: Moment) -> Bool {
        let retention = rules.memoryWindow + min(rules.memoryWindow, Contract.longestDelay)
        let passed = min(repetition.answered - first.answered, repetition.latest - first.latest)
        return repetition.sent - first.sent <= rules.memoryWindow && passed <= retention
    }
}
