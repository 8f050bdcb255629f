/// What a repeated answer must say.
struct AnswerContents: Equatable {
    /// All members but `duplicate` and the message.
    let members: Hash128
    let message: UInt64

    /// Whether an answer with these contents repeats the first. If there are too many rejections, the service forgets their
    /// messages.
    func repeats(_ first: AnswerContents, isRejected: Bool) -> Bool {
        members == first.members
            && (message == first.message || isRejected && message == Self.forgottenMessage)
    }

    private static let forgottenMessage = "…".utf8.withContiguousStorageIfAvailable { hash($0) } ?? 0

    private static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hasher = Hasher128()
        hasher.add(text)
        return hasher.hash.high
    }

    /// The contents of the answer that a reader has just read.
    init(_ json: JSONReader) {
        var hasher = Hasher128()
        var message: UInt64 = 0
        json.forEachMember(of: 0) { name, value in
            let text = json.text(name)
            if isSame(text, "duplicate") { return true }
            hasher.add(text)
            if isSame(text, "message"), json.tokens[value].kind == .string {
                message = Self.hash(json.text(value))
                return true
            }
            for index in value..<json.tokens[value].next {
                let token = json.tokens[index]
                hasher.add(token.kind.rawValue << 32 | (token.next - index))
                switch token.kind {
                case .string, .integer, .number: hasher.add(json.text(index))
                case .object, .array, .yes, .no, .null: break
                }
            }
            return true
        }
        (members, self.message) = (hasher.hash, message)
    }
}

/// What the service remembers of its answers in one partition, for as long as it may.
struct AnswerMemory {
    struct FirstAnswer {
        let offset: Int64
        let contents: AnswerContents
        let kind: CommandKind
        /// What an order took, or what its cancel has put back.
        let taken: [AuditMenu.Amount]
        /// The number of first answers before it.
        let number: Int
        let moment: SendTimes.Moment
    }

    private let rules: AuditRules
    /// What a repeat of each identity gets. A cancel takes the place of its order; one that was rejected has its own.
    ///
    /// Two generations: the older is dropped once the younger has as many as the service remembers.
    private var young: [Hash128: FirstAnswer] = [:]
    private var old: [Hash128: FirstAnswer] = [:]
    private var number = 0
    private let generation: Int
    /// Up to when there were answers of which nothing is known, and how many were remembered then.
    private var unknown: (until: Int64, number: Int)?

    init(_ rules: AuditRules) {
        self.rules = rules
        // What is forgotten in a transaction is remembered to its end.
        generation = rules.memoryCount + 100_000
    }

    /// Until this time there were answers that are not known, or whose commands are not.
    mutating func forget(until time: Int64) { unknown = (max(time, unknown?.until ?? time), number) }

    subscript(identity: Hash128) -> FirstAnswer? { young[identity] ?? old[identity] }

    /// What a repeat of the command gets, if there was an answer. For an order that may be its cancel.
    func firstAnswer(to command: Command) -> FirstAnswer? {
        let known = self[command.remembered]
        // A cancel that was rejected did not take the place of its order.
        return command.kind == .cancel && known?.kind != .cancel ? self[command.identity] : known
    }

    /// What the service may do with a command. Beyond the window it may still know what it answered first, or not.
    ///
    /// - Parameter returned: what the answer to a cancel says it returned.
    func tasks(
        of command: Command,
        at moment: SendTimes.Moment,
        returned: @autoclosure () -> [AuditMenu.Amount]
    ) -> [Command.Task] {
        let tasks = currentTasks(of: command, at: moment, returned: returned())
        return rules.versions == .current ? tasks : tasks + olderTasks(of: command)
    }

    /// What versions from before baskets may do with it besides.
    private func olderTasks(of command: Command) -> [Command.Task] {
        switch command.task {
        case .make(let order) where order.form == .single: [command.task]
        case .make, .reject: [.reject(.badCommand)]
        case .add, .set, .putBack: []
        }
    }

    /// Whether a repeat of the order may get the order's own answer although it was cancelled, which is no longer known.
    func mayBeUncancelled(_ command: Command) -> Bool {
        rules.versions == .alsoOlder && command.kind == .order && self[command.remembered]?.kind == .cancel
    }

    private func currentTasks(
        of command: Command,
        at moment: SendTimes.Moment,
        returned: @autoclosure () -> [AuditMenu.Amount]
    ) -> [Command.Task] {
        guard let known = self[command.remembered] else {
            guard mayHaveExpired(moment) else { return [command.task] }
            switch command.kind {
            case .order: return [command.task, .reject(.cancelled)]
            case .cancel: return [.putBack(returned())]
            case .restock: return [command.task]
            }
        }
        let isKnown = isRemembered(known, moment)
        switch (command.kind, known.kind) {
        case (.order, .cancel):
            return isKnown ? [.reject(.cancelled)] : [command.task, .reject(.cancelled)]
        case (.cancel, _):
            return isKnown ? [.putBack(known.taken)] : [.putBack(known.taken), command.task]
        default:
            return [command.task]
        }
    }

    /// Whether a command sent at this time may repeat one whose answer has expired.
    func mayHaveExpired(_ moment: SendTimes.Moment) -> Bool {
        guard let unknown, number - unknown.number <= rules.memoryCount else { return false }
        // The service rounds the times of what it remembers.
        return moment.sent - unknown.until <= rules.memoryWindow + rules.memoryWindow / 100 + 100
    }

    /// Whether the service must recognise a repeat of a command.
    func isRemembered(_ first: FirstAnswer, _ repetition: SendTimes.Moment) -> Bool {
        let retention = rules.memoryWindow + min(rules.memoryWindow, Contract.longestDelay)
        let passed = min(
            repetition.answered - first.moment.answered,
            repetition.latest - first.moment.latest
        )
        return repetition.sent - first.moment.sent <= rules.memoryWindow && passed <= retention
            && number - first.number <= rules.memoryCount
    }

    /// - Parameters:
    ///   - moment: when the command was sent, as a repeat.
    ///   - first: the same, as a first one.
    mutating func remember(
        _ contents: AnswerContents,
        at offset: Int64,
        _ command: Command,
        _ outcome: Outcome,
        _ moment: SendTimes.Moment,
        first: SendTimes.Moment
    ) {
        // What an order gets that was cancelled before is not remembered: the cancel is.
        if case .rejected(.cancelled) = outcome { return }
        var first = first
        var identity = command.identity
        if case .cancelled = outcome {
            (young[identity], old[identity]) = (nil, nil)
            identity = command.remembered
            // Otherwise the order could be made again within its own window.
            if let order = self[identity], isRemembered(order, moment) {
                first.sent = max(first.sent, order.moment.sent)
            }
        }
        young[identity] = FirstAnswer(
            offset: offset,
            contents: contents,
            kind: command.kind,
            taken: outcome.taken,
            number: number,
            moment: first
        )
        number += 1
        if young.count > generation { (old, young) = (young, [:]) }
    }
}
