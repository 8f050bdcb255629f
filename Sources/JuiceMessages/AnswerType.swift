/// The type of an answer, as in its member `type`.
package enum AnswerType: String, Sendable {
    case juiceMade, outOfStock, restocked, cancelled, rejected, answerLost

    /// The word for it in lists.
    package var word: String { [.juiceMade: "made", .outOfStock: "out of stock", .answerLost: "answer lost"][self] ?? rawValue }
}

/// What became of a command, as far as that is known without its first answer. Orders that were out of stock and rejected commands
/// count as not made.
public enum FormerOutcome: UInt32, Sendable, CaseIterable {
    case made, restocked, notMade, cancelled

    /// What became of a command; for a cancel that was not carried out, of its order.
    package init(of command: CommandKind, isCarriedOut: Bool) {
        self =
            switch command {
            case .order: isCarriedOut ? .made : .notMade
            case .restock: isCarriedOut ? .restocked : .notMade
            case .cancel: isCarriedOut ? .cancelled : .made
            }
    }

    /// As the member `was` names it.
    public var name: String { "\(self)" }
}
