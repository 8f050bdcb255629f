/// Finds gaps in the revisions of one store. It is given the store's answers in the order of the results topic.
public struct RevisionTracker: Sendable {
    private var last: Int?

    /// A tracker of a store whose first answer with a revision sets the start.
    public init() {}

    /// Adds the store's next answer.
    ///
    /// An answer of a version before revisions counts as a change if it changed the stock. A revision below the expected one is a
    /// new start: the store was reset.
    ///
    /// - Parameter answer: the answer.
    /// - Returns: the revisions that are missing before this answer; nil if none are.
    public mutating func gap(before answer: Answer) -> ClosedRange<Int>? {
        // A duplicate repeats the revision of its first answer.
        guard !answer.isDuplicate else { return nil }
        guard let revision = answer.revision else {
            if answer.outcome.changedStock, let known = last { last = known + 1 }
            return nil
        }
        defer { last = revision }
        guard let last, revision > last + 1 else { return nil }
        return last + 1...revision - 1
    }
}

extension Answer.Outcome {
    /// Whether a first answer with this outcome is a change of the store.
    fileprivate var changedStock: Bool {
        switch self {
        case .juiceMade, .restocked: true
        case .cancelled(let returned, _): !returned.isEmpty
        case .outOfStock, .rejected: false
        }
    }
}
