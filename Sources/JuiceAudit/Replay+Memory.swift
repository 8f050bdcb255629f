// What the service remembers of its answers, and so may do with a command.

extension Replay {
    /// What a repeat of the command gets, if there was an answer. For an order that may be its cancel.
    func firstAnswer(to command: Command) -> FirstAnswer? {
        let known = memory[command.remembered]
        // A cancel that was rejected did not take the place of its order.
        return command.kind == .cancel && known?.kind != .cancel ? memory[command.identity] : known
    }

    /// What the service may do with a command. Beyond the window it may still know what it answered first, or not.
    func tasks(of command: Command, at moment: SendTimes.Moment) -> [Command.Task] {
        guard let known = memory[command.remembered] else { return [command.task] }
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

    mutating func remember(
        _ index: Int,
        _ command: Command,
        _ outcome: Outcome,
        _ moment: SendTimes.Moment
    ) {
        // What an order gets that was cancelled before is not remembered: the cancel is.
        if case .rejected(.cancelled) = outcome { return }
        var first = times.first(moment, of: command.kind)
        var identity = command.identity
        if case .cancelled = outcome {
            memory[command.identity] = nil
            identity = command.remembered
            // Otherwise the order could be made again within its own window.
            if let order = memory[identity], isRemembered(order, moment) {
                first.sent = max(first.sent, order.moment.sent)
            }
        }
        memory[identity] = FirstAnswer(
            index: index,
            kind: command.kind,
            taken: outcome.taken,
            number: firstAnswerCount,
            moment: first
        )
        firstAnswerCount += 1
    }

    /// Whether the service must recognise a repeat answered now.
    func isRemembered(_ first: FirstAnswer, _ moment: SendTimes.Moment) -> Bool {
        times.isWithinWindow(first.moment, moment) && firstAnswerCount - first.number <= rules.memoryCount
    }
}
