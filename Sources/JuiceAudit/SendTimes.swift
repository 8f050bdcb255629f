/// When the commands of one topic and partition were sent. By these times the contract says which repeats must be recognised.
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

    private var latest = Int64.min
    private var latestFirst = Int64.min

    static func effective(_ timestamp: Int64, readAt time: Int64) -> Int64 {
        (time &- Contract.oldestTimestamp...time).contains(timestamp) ? timestamp : time
    }

    /// Reads on to a command that is answered at `time`.
    ///
    /// Records before it without an answer here were read earlier, so their effective times are never underestimated.
    mutating func read(_ command: Command, answeredAt time: Int64) -> Moment {
        let earliest = Self.effective(command.timestamps.lowerBound, readAt: time)
        latest = max(latest, earliest, Self.effective(command.timestamps.upperBound, readAt: time))
        let sent = Self.effective(command.record.timestamp, readAt: time)
        return Moment(sent: sent, answered: time, latest: latest)
    }

    /// The moment to remember for a first answer.
    mutating func first(_ moment: Moment) -> Moment {
        latestFirst = max(latestFirst, moment.sent)
        var first = moment
        first.latest = latestFirst
        return first
    }
}
