import JuiceMessages

/// What the service remembers of its answers in one partition, for as long as it must.
struct AnswerMemory {
    struct FirstAnswer {
        let offset: Int64
        /// The hash of what a repeat must say, too.
        let contents: Int
        let kind: CommandKind
        /// What became of the command or, for a rejected cancel, of its order.
        let was: FormerOutcome
        /// What an order used, or what its cancel has put back.
        let taken: [FruitAmount]
        /// When its command was sent, at the earliest and at the latest, and when it was answered.
        var sent, latest: Int64
        let answered: Int64
        let own: Int64
        fileprivate(set) var number = 0
    }

    private let window: DuplicateWindow
    /// The answer that a repeat of each identity gets. A cancel replaces its order; a rejected cancel has its own entry.
    private var answers: Recent<RecordDigest, FirstAnswer>
    private var number = 0
    /// First answers in order, without those that repeats no longer ask for.
    private var inOrder: [(identity: RecordDigest, number: Int)] = []
    private var firstInOrder = 0
    /// The time of the latest unknown answer, and how many were remembered then.
    private var unknown: (until: Int64, number: Int)?

    /// Until a transaction ends, the service remembers what it evicts in it.
    private static let slack = 100_000

    init(_ window: DuplicateWindow) {
        self.window = window
        answers = Recent(window.count + Self.slack)
    }

    /// Notes an answer at this time that is unknown, or whose command is.
    mutating func forget(at time: Int64) {
        number += 1
        unknown = (max(time, unknown?.until ?? time), number)
    }

    /// The answer that a repeat of the command gets, if any. For an order, it may be that of its cancel.
    func firstAnswer(to command: Command) -> FirstAnswer? {
        let known = answers[command.remembered]
        // A rejected cancel did not replace its order.
        return command.kind == .cancel && known?.kind != .cancel ? answers[command.identity] : known
    }

    /// What became of a command or, for a cancel, of its order; nil if that is unknown.
    func formerOutcome(of command: Command) -> FormerOutcome? { (firstAnswer(to: command) ?? answers[command.remembered])?.was }

    /// What the service may do with a command, the likeliest first. Beyond the window, it may or may not know its first answer.
    ///
    /// - Parameters:
    ///   - content: what the command asks for, under a menu.
    ///   - isKnownStore: whether the service knows the store; nil if that is not known.
    ///   - returned: what the answer to a cancel says it returned.
    func tasks(
        of command: Command, _ content: CommandContent, isKnownStore: Bool?, returned: [FruitAmount]
    ) -> [Command.Task] {
        // Only the reason of a rejection counts.
        let tasks: [Command.Task] =
            (isKnownStore ?? true ? [(content, [])] : []) + (isKnownStore ?? false ? [] : [(.reject(.unknownStore("")), [])])
        guard let known = answers[command.remembered] else {
            guard mayHaveExpired(command.times) else { return tasks }
            switch command.kind {
            case .order: return tasks + [(.reject(.cancelled), [])]
            case .cancel: return [(.cancel, returned), (.reject(.outOfRange(.wouldOverflow(fruit: 0, inStock: 0))), [])] + tasks
            case .restock: return tasks
            }
        }
        let isKnown = isRemembered(known, command.times)
        switch (command.kind, known.kind) {
        case (.order, .cancel): return (isKnown ? [] : tasks) + [(.reject(.cancelled), [])]
        case (.cancel, _): return [(.cancel, known.taken)] + (isKnown ? [] : tasks)
        default: return tasks
        }
    }

    private func isRecent(_ unknown: (until: Int64, number: Int)) -> Bool {
        number - unknown.number <= window.count + Self.slack
    }

    /// The longest time that a repeat is recognized after its command: the service rounds the times of what it remembers.
    private var longest: Int64 { window.age + window.age / 100 + 100 }

    /// Whether a command sent at this time may repeat one whose answer has expired.
    func mayHaveExpired(_ moment: SendTimes) -> Bool {
        guard let unknown, isRecent(unknown) else { return false }
        return moment.sent &- unknown.until <= longest
    }

    /// Whether the service must recognize a repeat of a command.
    ///
    /// A restart may have come just before the repeat's transaction. It restores what was answered for some time before the last
    /// handled command was sent. So an outage, in which nothing is handled, ages no answer.
    func isRemembered(_ first: FirstAnswer, _ repetition: SendTimes) -> Bool {
        repetition.sent &- first.sent <= window.age && number - first.number <= window.count
            && repetition.handledBefore &- max(first.answered, first.sent) <= window.retention
    }

    /// Whether a command comes too late to be a repeat: a restore may add a delay and, for a cancel, another restore a second one.
    func isNew(_ repetition: SendTimes, after first: FirstAnswer) -> Bool {
        repetition.earliest &- first.latest > longest + 2 * window.delay
    }

    /// Whether a command would be a repeat by its own timestamp, if the service used another time.
    func isRepeatByItself(_ first: FirstAnswer, _ repetition: SendTimes) -> Bool {
        min(first.own, repetition.own) >= 0 && (first.own, repetition.own) != (first.sent, repetition.sent)
            && 0...window.age ~= repetition.own &- first.own && number - first.number <= window.count
            && repetition.handledBefore &- max(first.answered, first.own) <= window.retention
    }

    /// The place of the oldest answer that the service must remember at a moment, as far as is known.
    mutating func oldest(at moment: SendTimes) -> Int64? {
        while firstInOrder < inOrder.count {
            let (identity, number) = inOrder[firstInOrder]
            if let first = answers[identity], first.number == number, isRemembered(first, moment) { return first.offset }
            firstInOrder += 1
        }
        return nil
    }

    /// Remembers the first answer to the command with an identity. A cancel's answer replaces its order's, unless it was rejected.
    mutating func remember(_ answer: FirstAnswer, _ identity: RecordDigest, order: RecordDigest, _ times: SendTimes) {
        var (answer, identity) = (answer, identity)
        if answer.was == .cancelled {
            answers[identity] = nil
            identity = order
            // Otherwise the order could be made again within its own window. The service may know an order that it no longer needs
            // to know, or that the audit does not.
            if let order = answers[identity] {
                answer.latest = max(answer.latest, order.latest)
                if isRemembered(order, times) { answer.sent = max(answer.sent, order.sent) }
            } else if let unknown, isRecent(unknown) {
                answer.latest = max(answer.latest, unknown.until)
            }
        }
        answer.number = number
        answers[identity] = answer
        inOrder.append((identity, number))
        if firstInOrder > Self.slack, firstInOrder > inOrder.count / 2 {
            inOrder.removeFirst(firstInOrder)
            firstInOrder = 0
        }
        number += 1
    }
}

/// When a command was sent, by its record or, if the service used another time, by the journal's record of it. By these times the
/// contract says which repeats must be recognized.
struct SendTimes {
    let own: Int64
    /// When it was sent, at the latest and at the earliest. Without a timestamp that was when it was read, just before the answer.
    let sent, earliest: Int64
    /// When the last command was sent that was handled before the transaction with this answer.
    let handledBefore: Int64

    init(_ record: AuditRecord, handledBy entry: AuditRecord, handledBefore: Int64, _ window: DuplicateWindow) {
        (own, self.handledBefore) = (record.timestamp, handledBefore)
        let told = entry.headers.sent ?? (own >= 0 ? own : nil)
        (sent, earliest) = (told ?? entry.timestamp, told ?? entry.timestamp - window.delay)
    }
}
