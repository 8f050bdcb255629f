/// When the commands of one partition were sent, by which the contract says whose repeat must be recognised.
///
/// The window counts from the first command's timestamp to its repeat's. A timestamp from the future, from more than seven
/// days ago or missing counts as the moment of reading; that moment is not in the topics, but the answer's is, and is the
/// next best.
///
/// A repeat that was sent within the window may still come late: its sender held it back. It must be recognised as long as
/// the window and the delay that the contract allows are not over, by the clock of the answers or by the commands before
/// it: in an outage or a backlog the one goes on without the other.
struct SendTimes {
    /// What is known of a command when it is answered.
    struct Moment {
        let sent: Int64
        let answered: Int64
        /// The latest time of those up to it: for a first, of the first commands of its kind; for a repeat, of all records of
        /// its topic.
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

    /// Reads on to a command, which is answered at this time.
    ///
    /// Records between that have no answer here were read before it: that makes their times no earlier than they were.
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

    /// What is to be remembered of a command that was answered for the first time.
    mutating func first(_ moment: Moment, _ kind: CommandKind) -> Moment {
        latestFirst[kind.rawValue] = max(latestFirst[kind.rawValue], moment.sent)
        var first = moment
        first.latest = latestFirst[kind.rawValue]
        return first
    }

    /// Whether a repeat must be recognised for the time that passed.
    func isWithinWindow(_ first: Moment, _ repetition: Moment) -> Bool {
        let retention = rules.memoryWindow + min(rules.memoryWindow, Contract.longestDelay)
        let passed = min(repetition.answered - first.answered, repetition.latest - first.latest)
        return repetition.sent - first.sent <= rules.memoryWindow && passed <= retention
    }
}
