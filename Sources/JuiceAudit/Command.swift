/// A command that must be answered in the partition where it is.
struct Command {
    let record: AuditRecord
    let kind: CommandKind
    let store: Int
    let identity: Hash128
    /// The identity under which its answer is remembered: its own, or for a cancel that of its order.
    let remembered: Hash128
    let task: Task
    /// The timestamps of its own record and of those before it, from the command before on.
    var timestamps: ClosedRange<Int64>

    /// An order as a cancel, or a cancel as an order without a juice.
    func confused(with reference: AnswerQueue.Reference) -> Command {
        Command(
            record: record,
            kind: reference.kind,
            store: store,
            identity: reference.identity,
            remembered: remembered,
            task: reference.kind == .cancel ? .putBack([]) : .reject(.badCommand),
            timestamps: timestamps
        )
    }

    /// What the command asks of its store.
    enum Task {
        case make(Order)
        case add([AuditMenu.Amount])
        case set([AuditMenu.Amount])
        /// Puts back what an order took. A cancel does not say what that was.
        case putBack([AuditMenu.Amount])
        case reject(RejectionReason)
    }
}
