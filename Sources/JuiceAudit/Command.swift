/// A command that must be answered in the partition where it is.
struct Command {
    /// Its index among the records of its topic and partition.
    let index: Int
    let kind: CommandKind
    let store: Int
    let identity: Int
    /// The identity under which its answer is remembered: its own, or for a cancel that of its order.
    let remembered: Int
    let task: Task

    /// What the command asks of its store.
    enum Task {
        case make(Order)
        case add([Contract.Amount])
        case set([Contract.Amount])
        /// Puts back what an order took. A cancel does not say what that was.
        case putBack([Contract.Amount])
        case reject(RejectionReason)
    }
}
