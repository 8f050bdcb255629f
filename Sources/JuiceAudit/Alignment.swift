/// Matches the answers of one kind in one partition with its commands: one for each, and in their order.
///
/// Where they part, it looks for the nearest place at which they meet again, so that what is told is the one answer
/// that is missing or too many, and not everything behind it.
struct Alignment {
    enum Match {
        case command(Command)
        /// The command was passed over: its answer comes too late.
        case late(Command)
        /// No command is left for this answer.
        case none
    }

    /// How many answers are looked at to find where they meet the commands again.
    static let lookahead = 64

    private let commands: [Command]
    private var next = 0
    private var passedOver: [Command] = []

    init(_ commands: [Command]) { self.commands = commands }

    /// The commands without an answer, once all answers are matched.
    var unanswered: [Command] { passedOver + commands[next...] }

    /// The identity whose answer is due.
    var due: Int? { next < commands.count ? commands[next].identity : nil }

    /// Finds the command of an answer to this identity.
    ///
    /// - Parameter distanceToDue: how many answers further on the one that is due is, `nil` when it is not near.
    mutating func match(_ identity: Int, distanceToDue: Int?) -> Match {
        if due == identity {
            next += 1
            return .command(commands[next - 1])
        }
        let found = commands[next...].firstIndex { $0.identity == identity }
        if let found, distanceToDue.map({ found - next <= $0 }) ?? true {
            passedOver += commands[next..<found]
            next = found + 1
            return .command(commands[found])
        }
        if let place = passedOver.firstIndex(where: { $0.identity == identity }) {
            return .late(passedOver.remove(at: place))
        }
        return .none
    }
}
