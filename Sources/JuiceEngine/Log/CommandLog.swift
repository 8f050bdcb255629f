/// The log under a worker: what the engine needs of Kafka, and nothing else.
///
/// One thread makes all calls, one at a time and never from inside another. A call does what it says or throws a ``LogError``
/// whose remedy says what the worker does next. The same worker runs on Kafka and, in tests, on a simulated log that can fail,
/// crash or delay any call.
///
/// ## Topics
/// ### Input
/// - ``poll(maxRecords:wait:)``
/// - ``headers(of:)``
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
    /// The time of day, in milliseconds since 1970. The engine has no other clock.
    var now: Timestamp { get }

    /// Makes new producers and takes over their transactional ids, which aborts what a predecessor left open and fences it.
    /// Drops the producers of an earlier call.
    func initTransactions() throws(LogError)

    /// Returns the next change of the assignment, or the commands at hand.
    ///
    /// The records' bytes and headers stay valid until the next call. No partition is read before ``start(at:)``.
    /// - Parameters:
    ///   - maxRecords: the most commands to return.
    ///   - wait: how long to wait for something to happen.
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult

    /// The headers of a command that was polled last, in the sender's order.
    func headers(of record: CommandRecord) -> [RecordHeader]

    /// Reads these partitions from these positions, and no others.
    func start(at positions: [InputPosition]) throws(LogError)

    /// Looks up the committed offsets and the ends of the changelogs.
    ///
    /// The offsets are read first, and only once no transaction on them is undecided. So the ends, read after them, lie beyond
    /// everything that the offsets cover.
    ///
    /// - Parameters:
    ///   - partitions: the partitions' numbers.
    ///   - retention: how long answers are kept, in milliseconds. ``AnswerHorizon`` turns that into the time to read from.
    /// - Returns: the points, and the partitions that have none because a topic has no leader there, with that topic.
    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String])

    /// Begins to read the changelogs at these positions, and stops any earlier reading.
    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError)

    /// Returns the next committed records of the changelogs, and the partitions read to their ends.
    ///
    /// Waits a moment if there are none. The bytes stay valid until the next call.
    func readChangelog() throws(LogError) -> ChangelogBatch

    /// Begins a transaction. Only one is ever open.
    func begin() throws(LogError)

    /// Adds a record to the transaction. The bytes are copied.
    ///
    /// Never throws ``LogError/Remedy/retry``, since a transaction without the record must not be committed.
    func produce(_ record: OutputRecord) throws(LogError)

    /// Adds the input positions to the transaction, with the membership of this assignment. The group refuses them once the
    /// partitions belong to another member.
    func sendOffsets(_ positions: [InputPosition]) throws(LogError)

    /// Commits the transaction. Returns only once that is confirmed.
    func commit() throws(LogError)

    /// An input topic's name in Kafka, for the headers of dead letters.
    func name(of topic: InputTopic) -> String

    /// Leaves the consumer group and closes all clients. No call follows.
    func leave()
}

/// Why a call on the log failed, and what to do next.
public struct LogError: Error, Sendable, Equatable {
    /// What the worker does next.
    public enum Remedy: Sendable, Equatable {
        /// Make the same call again.
        case retry
        /// The transaction failed or its outcome is unknown. Undo its changes, make new producers and read the committed
        /// offsets.
        case startOver
        /// This process cannot recover. Stop and report why.
        case stop
    }

    /// What failed.
    public enum Subject: Sendable, Equatable {
        /// The call. Another one may succeed.
        case call
        /// A record: the log refused it for its contents, and would again.
        case record
        /// The connection to a broker. What was sent over it is not to blame.
        case connection
    }

    /// What the worker does next.
    public let remedy: Remedy
    /// What happened, for people.
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
    /// The commands at hand, and the partitions read to their current ends. A position at an end is past markers and aborted
    /// records, which no record shows. Both are empty if nothing happened.
    case records([CommandRecord], ends: [InputPosition])
    /// The worker owns these partitions (see ``InputShare``). It owned none before.
    case assigned([Int32])
    /// The group revoked all partitions.
    case revoked
}
