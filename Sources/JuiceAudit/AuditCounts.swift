/// What the topics held.
public struct AuditCounts: Sendable, Hashable {
    /// Records that clients wrote to orders and restocks: all but forwarded copies.
    public var records = 0
    /// Records that had to be answered, each where its store lives.
    public var commands = 0
    /// Answers, duplicates among them.
    public var answers = 0
    /// Answers that were given again.
    public var duplicates = 0
    /// Commands that were forwarded to the partition of their store.
    public var forwarded = 0
    /// Records that became dead letters.
    public var deadLetters = 0
    /// Commands that the service has not answered yet, since they are among the latest.
    public var open = 0
    /// Commands and answers that could not be judged, since what they go with has expired.
    public var unjudged = 0
    /// Stores that a record named.
    public var stores = 0
    /// First answers "juice made".
    public var juicesMade = 0
    /// First answers "out of stock".
    public var outOfStock = 0
    /// First answers "restocked".
    public var restocked = 0
    /// First answers "cancelled".
    public var cancelled = 0
    /// Answers "rejected", duplicates apart.
    public var rejected = 0
    /// First answers that changed stock and do not say its revision: versions of the service without revisions wrote them.
    public var withoutRevision = 0

    /// Nothing counted yet.
    public init() {}

    mutating func add(_ other: AuditCounts) {
        records += other.records
        commands += other.commands
        answers += other.answers
        open += other.open
        unjudged += other.unjudged
        stores += other.stores
        duplicates += other.duplicates
        juicesMade += other.juicesMade
        outOfStock += other.outOfStock
        restocked += other.restocked
        cancelled += other.cancelled
        rejected += other.rejected
        withoutRevision += other.withoutRevision
    }
}
