/// Finds gaps in the revisions of one store. It is given the store's answers in the order of the results topic.
public struct RevisionTracker: Sendable {
    private var last: Int?

    /// A tracker of a store whose first answer with a revision sets the start.
    public init() {}

    /// Adds the store's next answer.
    ///
    /// A revision below the expected one is a new start: the store was reset.
    ///
    /// - Parameter answer: the answer.
    /// - Returns: the revisions that are missing before this answer; nil if none are.
    public mutating func gap(before answer: Answer) -> ClosedRange<Int>? {
        // A duplicate repeats the revision of its first answer.
        guard !answer.isDuplicate, let revision = answer.revision else { return nil }
        defer { last = revision }
        guard let last, revision > last + 1 else { return nil }
        return last + 1...revision - 1
    }
}
