/// What the service remembers of its answers in one partition, for as long as it may.
struct AnswerMemory {
    struct FirstAnswer {
        /// Where it stands in the journal.
        let offset: Int64
        /// What a repeat must say, too.
        let contents: UInt64
        let kind: CommandKind
        /// What became of the command; of the order, if its cancel was rejected.
        let was: String
        /// What an order took, or what its cancel has put back.
        let taken: [AuditMenu.Amount]
        /// The number of first answers before it.
        let number: Int
        /// When its command was sent, at the earliest, and when it was answered. If it seems earlier than it was, nothing is asked
        /// of the service that it need not do.
        let sent, answered: Int64
    }

    private let rules: AuditRules
    /// What a repeat of each identity gets. A cancel takes the place of its order; one that was rejected has its own.
    private var answers: Recent<UInt64, FirstAnswer>
    private var number = 0
    /// First answers in their order, without those that repeats no longer ask for.
    private var inOrder: [(identity: UInt64, number: Int)] = []
    private var firstInOrder = 0
    /// Up to when there were answers of which nothing is known, and how many were remembered then.
    private var unknown: (until: Int64, number: Int)?

    /// What is forgotten in a transaction is remembered to its end.
    private static let slack = 100_000

    init(_ rules: AuditRules) {
        self.rules = rules
        answers = Recent(rules.memoryCount + Self.slack)
    }

    /// There was an answer at this time that is not known, or whose command is not.
    mutating func forget(at time: Int64) {
        number += 1
        unknown = (max(time, unknown?.until ?? time), number)
    }

    /// What a repeat of the command gets, if there was an answer. For an order that may be its cancel.
    func firstAnswer(to command: Command) -> FirstAnswer? {
        let known = answers[command.remembered]
        // A cancel that was rejected did not take the place of its order.
        return command.kind == .cancel && known?.kind != .cancel ? answers[command.identity] : known
    }

    /// What became of a command or, of a cancel, of its order; nil if that is not known.
    func formerOutcome(of command: Command) -> String? { (firstAnswer(to: command) ?? answers[command.remembered])?.was }

    /// What the service may do with a command, the likeliest first. Beyond the window it may still know what it answered first, or
    /// not.
    ///
    /// - Parameter returned: what the answer to a cancel says it returned.
    func tasks(
        of command: Command, at moment: SendTimes, returned: @autoclosure () -> [AuditMenu.Amount]
    ) -> [Command.Task] {
        guard let known = answers[command.remembered] else {
            guard mayHaveExpired(moment) else { return [command.task] }
            switch command.kind {
            case .order: return [command.task, .reject(.cancelled)]
            case .cancel: return [.putBack(returned()), .reject(.wouldOverflow), command.task]
            case .restock: return [command.task]
            }
        }
        let isKnown = isRemembered(known, moment)
        switch (command.kind, known.kind) {
        case (.order, .cancel): return isKnown ? [.reject(.cancelled)] : [command.task, .reject(.cancelled)]
        case (.cancel, _): return isKnown ? [.putBack(known.taken)] : [.putBack(known.taken), command.task]
        default: return [command.task]
        }
    }

    /// Whether a command sent at this time may repeat one whose answer has expired.
    func mayHaveExpired(_ moment: SendTimes) -> Bool {
        guard let unknown, number - unknown.number <= rules.memoryCount + Self.slack else { return false }
        // The service rounds the times of what it remembers.
        return moment.sent &- unknown.until <= rules.memoryWindow + rules.memoryWindow / 100 + 100
    }

    /// Whether the service must recognise a repeat of a command.
    ///
    /// A restart may have come just before the repeat's transaction. It restores what was answered for some time before the last
    /// record that was handled. So an outage, in which nothing is handled, ages no answer.
    func isRemembered(_ first: FirstAnswer, _ repetition: SendTimes) -> Bool {
        let retention = rules.memoryWindow + min(rules.memoryWindow, Contract.longestDelay)
        return repetition.sent &- first.sent <= rules.memoryWindow && number - first.number <= rules.memoryCount
            && repetition.handledBefore &- first.answered <= retention
    }

    /// Where the oldest answer is that the service must remember at a moment, as far as is known.
    mutating func oldest(at moment: SendTimes) -> Int64? {
        while firstInOrder < inOrder.count {
            let (identity, number) = inOrder[firstInOrder]
            if let first = answers[identity], first.number == number, isRemembered(first, moment) { return first.offset }
            firstInOrder += 1
        }
        return nil
    }

    mutating func remember(_ contents: UInt64, at offset: Int64, _ command: Command, _ outcome: Outcome, _ times: SendTimes) {
        // What an order gets that was cancelled before is not remembered: the cancel is. Nor is a cancel to an unknown store.
        if outcome.reason == .cancelled || outcome.reason == .unknownStore && command.kind == .cancel { return }
        var (identity, sent) = (command.identity, times.earliest)
        if outcome.kind == .cancelled {
            answers[identity] = nil
            identity = command.remembered
            // Otherwise the order could be made again within its own window.
            if let order = answers[identity], isRemembered(order, times) { sent = max(sent, order.sent) }
        }
        answers[identity] = FirstAnswer(
            offset: offset, contents: contents, kind: command.kind, was: outcome.was(of: command.kind), taken: outcome.taken,
            number: number, sent: sent, answered: times.answered)
        inOrder.append((identity, number))
        if firstInOrder > Self.slack, firstInOrder > inOrder.count / 2 {
            inOrder.removeFirst(firstInOrder)
            firstInOrder = 0
        }
        number += 1
    }
}

/// When a command was sent, and when it was answered. By these times the contract says which repeats must be recognised.
///
/// A timestamp in the future, more than seven days old or missing counts as the moment of reading. The topics do not show that
/// moment: it is before the answer, and after the last transaction.
struct SendTimes {
    /// When it was sent, at the latest and at the earliest.
    let sent, earliest: Int64
    let answered: Int64
    /// When the last record was handled before the transaction that answers it.
    let handledBefore: Int64

    /// - Parameter start: when the transaction that answers it began, at the earliest.
    init(_ record: AuditRecord, answeredAt time: Int64, after start: Int64, handledBefore: Int64) {
        sent = Self.effective(record.timestamp, readAt: time)
        earliest = sent == record.timestamp ? sent : min(start, time)
        (answered, self.handledBefore) = (time, handledBefore)
    }

    static func effective(_ timestamp: Int64, readAt time: Int64) -> Int64 {
        (0...Contract.oldestTimestamp).contains(time &- timestamp) ? timestamp : time
    }
}
