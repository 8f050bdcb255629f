/// Matches the answers to the commands of one topic in one partition: one for each, in the same order.
///
/// Where the two sequences diverge, it looks for the nearest point at which they agree again, so that only the missing or
/// surplus answer is reported and not everything after it.
struct Alignment {
    enum Match {
        case command(Command)
        /// The command was passed over earlier: its answer is late.
        case late(Command)
        /// No command is left for this answer.
        case none
    }

    /// How many answers to look ahead for the point of agreement.
    static let lookahead = 64
    /// How many commands to look ahead where that many answers do not show it.
    static let reach = 65_536
    /// How many commands that were passed over wait for a late answer.
    static let mostPassedOver = 4096

    let topic: AuditTopic
    let bounds: AuditBounds
    private var cursor: RecordCursor
    private var pending = Queue<Command>()
    private var passedOver = Queue<Command>()
    private(set) var lost: [Command] = []
    /// Whether the first answer with a command is found. Before, either may have expired.
    private(set) var isSynchronized: Bool
    /// Commands whose answers have expired.
    private(set) var unjudged = 0

    init(_ cursor: RecordCursor, _ topic: AuditTopic, areAnswersWhole: Bool) {
        (self.cursor, self.topic, bounds) = (cursor, topic, cursor.bounds)
        isSynchronized = areAnswersWhole && cursor.bounds.first == 0
    }

    /// The command whose answer is due.
    mutating func due(_ intake: inout Intake) throws -> Command? { try command(at: 0, &intake) }

    /// Makes the due command what versions from before cancels take it for: a cancel is an order to them, and an order that was
    /// cancelled gets its cancel's answer again.
    mutating func confuseDue(
        with reference: AnswerQueue.Reference,
        isDuplicate: Bool,
        _ intake: inout Intake
    ) throws {
        guard let due = try due(&intake), due.remembered == reference.remembered else { return }
        switch (due.kind, reference.kind) {
        case (.cancel, .order): pending.replaceFirst(with: due.confused(with: reference))
        case (.order, .cancel) where isDuplicate: pending.replaceFirst(with: due.confused(with: reference))
        default: return
        }
    }

    private mutating func command(at place: Int, _ intake: inout Intake) throws -> Command? {
        while pending.count <= place {
            guard let command = try intake.read(&cursor, topic) else { return nil }
            pending.append(command)
        }
        return pending[place]
    }

    /// Finds the command of an answer.
    ///
    /// - Parameter distanceToDue: how many answers ahead the due one is; nil if it is beyond ``lookahead``.
    mutating func match(
        _ identity: Hash128,
        distanceToDue: Int?,
        _ intake: inout Intake
    ) throws -> Match {
        var place = 0
        while place <= distanceToDue ?? Self.reach, let command = try command(at: place, &intake) {
            if command.identity == identity { return .command(leave(command, at: place)) }
            place += 1
        }
        var late: Command?
        passedOver.removeFirst { command in
            if command.identity == identity { late = command }
            return late != nil
        }
        return late.map(Match.late) ?? .none
    }

    private mutating func leave(_ command: Command, at place: Int) -> Command {
        var found = command
        for _ in 0..<place {
            guard let other = pending.popFirst() else { break }
            found.timestamps = found.timestamps.union(other.timestamps)
            passedOver.append(other)
            if passedOver.count > Self.mostPassedOver, let oldest = passedOver.popFirst() {
                lost.append(oldest)
            }
        }
        _ = pending.popFirst()
        return found
    }

    /// Takes the commands that will get no answer any more.
    mutating func takeLost() -> [Command] {
        defer { lost = [] }
        return lost
    }

    /// Takes the commands that were passed over, when no answer is left.
    mutating func takePassedOver() -> [Command] {
        var commands: [Command] = []
        while let command = passedOver.popFirst() { commands.append(command) }
        return commands
    }

    /// Takes the next command after all that were answered or passed over.
    mutating func takeNext(_ intake: inout Intake) throws -> Command? {
        guard let command = try command(at: 0, &intake) else { return nil }
        _ = pending.popFirst()
        return command
    }
}

// MARK: - Where the beginning has expired

extension Alignment {
    /// Finds the first answer that has a command. From there on each must have the other.
    ///
    /// - Parameters:
    ///   - identities: those of the answer and of the ones after it.
    ///   - areLast: whether no answer is left after these.
    ///   - time: when the answer was given.
    ///   - areAnswersWhole: whether no answer has expired, so that every command has one.
    /// - Returns: false if the answer's command has expired.
    mutating func synchronize(
        _ identities: [Hash128],
        areLast: Bool,
        answeredAt time: Int64,
        areAnswersWhole: Bool,
        _ intake: inout Intake
    ) throws -> Bool {
        while !isSynchronized {
            var place = 0
            while place <= Self.lookahead, let command = try command(at: place, &intake) {
                if command.identity == identities.first,
                    try isSupported(identities, areLast: areLast, at: place, &intake)
                {
                    isSynchronized = true
                    // Answers that are all there can only be missing.
                    if !areAnswersWhole { for _ in 0..<place { dropFirst() } }
                    return true
                }
                place += 1
            }
            guard !areAnswersWhole, let first = pending[0], first.record.timestamp <= time else {
                return false
            }
            dropFirst()
        }
        return true
    }

    private mutating func dropFirst() {
        if pending.popFirst() != nil { unjudged += 1 }
    }

    /// Whether the commands after one agree with the answers after the one it may belong to.
    private mutating func isSupported(
        _ identities: [Hash128],
        areLast: Bool,
        at place: Int,
        _ intake: inout Intake
    ) throws -> Bool {
        // After the last answer, no command may have one.
        if areLast, let next = try command(at: place + identities.count, &intake),
            next.record.offset < bounds.settled
        {
            return false
        }
        var agreeing = 0
        for (step, identity) in identities.enumerated().dropFirst() {
            if try command(at: place + step, &intake)?.identity == identity { agreeing += 1 }
        }
        return agreeing * 2 >= identities.count - 1
    }
}

extension ClosedRange<Int64> {
    fileprivate func union(_ other: Self) -> Self {
        Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
    }
}
