/// The log under a worker: what the engine needs of Kafka, and nothing else.
///
/// All calls are made by one thread, one at a time, and none is made from inside another. A call either does what
/// it says or throws a ``LogError`` whose remedy says what the worker does next. Two implementations exist: Kafka,
/// and a simulated log in the tests that can fail, crash or delay at every one of these calls. The same worker
/// runs on both.
///
/// ## Topics
/// ### Input
/// - ``poll(maxRecords:wait:)``
/// - ``start(at:)``
/// ### Restoring
/// - ``restorePoints(of:retention:)``
/// - ``openChangelog(_:)``
/// - ``readChangelog()``
/// ### Transactions
/// - ``initTransactions()``
/// - ``begin()``
/// - ``produce(_:)``
/// - ``sendOffsets(_:)``
/// - ``commit()``
public protocol CommandLog: AnyObject {
    /// The time of day, in milliseconds since 1970: the engine has no clock of its own.
    var now: Timestamp { get }

    /// Makes new producers and takes over their transactional ids: what a predecessor left open is aborted and
    /// the predecessor fenced. Producers of an earlier call are dropped.
    func initTransactions() throws(LogError)

    /// What happened next: a change of the assignment, or the commands at hand.
    ///
    /// The records' bytes stay valid until the next call. Nothing of an assignment is read before ``start(at:)``.
    /// - Parameters:
    ///   - maxRecords: the most commands to return.
    ///   - wait: how long to wait for something to happen.
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult

    /// Reads the given partitions from the given positions, and no others.
    func start(at positions: [InputPosition]) throws(LogError)

    /// Where each partition stands. The committed offsets are taken first and only once no transaction is undecided about
    /// them, the ends of the changelogs after that: what those offsets cover is then below those ends.
    ///
    /// - Parameters:
    ///   - partitions: the partitions' numbers.
    ///   - retention: how long answers are kept, in milliseconds; ``AnswerHorizon`` says from when on that makes them wanted.
    /// - Returns: the points, and the partitions of which nothing can be said now, with the topic that has no leader there.
    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String])

    /// Begins to read the changelogs at these positions, in place of any read before.
    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError)

    /// The next records of the changelogs that are committed, and how far each partition is read.
    ///
    /// Waits a moment when there is nothing. The bytes stay valid until the next call.
    func readChangelog() throws(LogError) -> ChangelogBatch

    /// Begins a transaction. Only one is ever open.
    func begin() throws(LogError)

    /// Adds a record to the transaction. The bytes are copied.
    ///
    /// Never throws ``LogError/Remedy/retry``: a transaction that lacks a record must not be committed.
    func produce(_ record: OutputRecord) throws(LogError)

    /// Adds the input positions to the transaction, as this assignment's member: refused once the partitions have
    /// been given to another.
    func sendOffsets(_ positions: [InputPosition]) throws(LogError)

    /// Commits. Returns only when the transaction is known to be committed.
    func commit() throws(LogError)

    /// What people call an input topic; dead letters name it.
    func name(of topic: InputTopic) -> String

    /// Leaves the consumer group and lets everything go. No call follows.
    func leave()
}

/// Why a call on the log failed, by what to do next.
public struct LogError: Error, Sendable, Equatable {
    /// What the worker does next.
    public enum Remedy: Sendable, Equatable {
        /// Make the same call again.
        case retry
        /// The transaction failed or its outcome is unknown: undo its changes, make new producers, and look in the log how
        /// things stand.
        case startOver
        /// Nothing this process can do will help: stop, and say why.
        case stop
    }

    /// What failed.
    public enum Subject: Sendable, Equatable {
        /// The call. Another one may succeed.
        case call
        /// A record: the log refused it for its contents, and would again.
        case record
    }

    /// What the worker does next.
    public let remedy: Remedy
    /// What happened, in a sentence for a person.
    public let message: String
    /// What failed.
    public let subject: Subject

    /// An error with its remedy.
    public init(_ remedy: Remedy, _ message: String, subject: Subject = .call) {
        self.remedy = remedy
        self.message = message
        self.subject = subject
    }
}

/// How long ``CommandLog/poll(maxRecords:wait:)`` waits when nothing is at hand.
public enum PollWait: Sendable {
    /// A moment, as the log sees fit.
    case briefly
    /// Not at all.
    case never
}

/// The answer to ``CommandLog/poll(maxRecords:wait:)``.
public enum PollResult {
    /// The commands at hand, and the partitions read to their present end, with the offset that follows: it passes markers
    /// and aborted records, which no record tells of. Both empty when nothing happened.
    case records([CommandRecord], ends: [InputPosition])
    /// These partitions are this worker's, by what the group gave it (see ``InputShare``); it had none when this comes.
    case assigned([Int32])
    /// The group took all partitions back.
    case revoked
}
