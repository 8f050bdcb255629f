/// Matches the answers of one kind in one partition with their commands: one for each, in the same order.
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
    /// - Parameter distanceToDue: how many answers ahead the due one is; nil if it is beyond ``lookahead``.
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
