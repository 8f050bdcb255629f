import JuiceDomain
import JuiceMessages

/// A read-only view of the log under a worker.
///
/// One thread makes all calls, one at a time and never from inside another. A call does what it says or throws a ``LogError``
/// whose remedy says what comes next.
package protocol KafkaReadPort: AnyObject {
    /// The time of day, in milliseconds since 1970, by this machine's clock. It may be wrong by years, and jump.
    var now: Timestamp { get }

    /// The milliseconds since some moment, for intervals: it never goes back, and goes on while the machine is suspended.
    var uptime: Timestamp { get }

    /// Where the logs of partitions that hold stores begin and truly end, undecided transactions included.
    ///
    /// - Returns: the extents, and the partitions that have none because a topic has no leader there, with that topic.
    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String])

    /// The offsets that the group has committed. Inputs without one are left out.
    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset]

    /// Begins to read the changelogs at these positions, and stops any earlier reading. Without positions nothing is read.
    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError)

    /// Returns the next records of the changelogs, and the partitions read to their ends.
    ///
    /// Waits a moment if there are none. The bytes stay valid until the next call.
    func readChangelog() throws(LogError) -> ChangelogBatch

    /// The headers of a record that ``readChangelog()`` returned last; nil if they cannot be read.
    func headers(of record: ChangelogBatch.Record) -> [MessageHeader]?

    /// Reads ranges of the inputs again, which the log had at the last call of ``extents(of:)``.
    ///
    /// - Returns: the records of each range that the log still has, valid until the next call, and the partitions with damaged
    ///   bytes there, which return no records.
    func readBack(_ ranges: [InputPartition: Range<Offset>]) throws(LogError) -> (
        records: [CommandRecord], damaged: Set<InputPartition>
    )

    /// How far back repeats may ask for answers in each partition, by time: see ``AnswerRestoreTime``.
    ///
    /// - Parameters:
    ///   - handledAt: when the last handled command of each partition was sent.
    ///   - settings: the window, and which timestamps count.
    func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], _ settings: WorkerSettings
    ) throws(LogError) -> [Int32: AnswerReach]
}

/// The log under a worker: what the engine needs of Kafka, and nothing else.
///
/// The same worker runs on Kafka and, in tests, on a simulated log that can fail, crash or delay any call.
package protocol KafkaPort: KafkaReadPort {
    // MARK: - Input

    /// Returns the next change of the assignment, or the commands at hand, `maxRecords` at most.
    ///
    /// The records' bytes and headers stay valid until the next call. No partition is read before ``start(at:)``.
    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult

    /// The headers of a command that was polled last, in the sender's order; nil if they cannot be read.
    func headers(of record: CommandRecord) -> [MessageHeader]?

    /// Reads from these positions on, and from no other partitions.
    func start(at positions: [InputPosition]) throws(LogError)

    /// Commits for the group how far the inputs are read, without waiting. Errors are ignored.
    func publish(_ offsets: [InputPartition: GroupOffset])

    // MARK: - Taking over partitions

    /// Commits offsets for the group. A stale member learns here that its assignment is over.
    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError)

    /// Makes new producers under other transactional ids than before, all together, and drops the former ones. Transactions that
    /// are open under the new ids are aborted.
    ///
    /// - Returns: the ids.
    func initTransactions() throws(LogError) -> [String]

    /// Takes over the transactional ids of others: aborts what is open under them, and makes brokers refuse whatever their
    /// owners send from then on.
    ///
    /// - Returns: the ids that cannot be taken over now, since a partition of their transaction has no leader.
    func fence(_ ids: Set<String>) throws(LogError) -> Set<String>

    /// Where the first open transaction begins in each changelog of these extents, if that is before the extent's end.
    func openTransactions(in extents: [PartitionExtents]) throws(LogError) -> [ChangelogPosition]

    // MARK: - Transactions

    /// Begins a transaction. Only one is ever open.
    func begin() throws(LogError)

    /// Adds a record to the transaction. The bytes are copied.
    ///
    /// Never throws ``LogError/Remedy/retry``, since a transaction without the record must not be committed.
    func produce(_ record: OutputRecord) throws(LogError)

    /// Waits until brokers have all records of the transaction so far.
    func flush() throws(LogError)

    /// Commits the transaction. Returns only once that is confirmed.
    ///
    /// - Returns: the offsets of its records in each partition of the results, in the order in which they were written. Markers of
    ///   earlier transactions may lie between them.
    @discardableResult
    func commit() throws(LogError) -> [Int32: [Range<Offset>]]

    // MARK: - Membership

    /// Joins the group again, after ``leave(handsOver:)``.
    func rejoin() throws(LogError)

    /// Leaves the group, and drops the producers. Nothing is read or written from then on, until ``rejoin()``.
    ///
    /// - Parameter handsOver: whether the group's other instances get the partitions at once. Otherwise they are kept for a while,
    ///   in case this one comes back.
    func leave(handsOver: Bool)
}

extension KafkaPort {
    /// Adds a note in a partition's journal to the transaction.
    func produce(_ note: JournalNote, to partition: Int32) throws(LogError) {
        var buffer = OutputBuffer()
        note.write(into: &buffer)
        try produce(OutputRecord(topic: .results, partition: partition, value: buffer.unsafeBytes))
    }
}

/// How long ``KafkaPort/poll(maxRecords:wait:)`` waits when nothing is at hand.
package enum PollWait: Sendable {
    /// A moment, as the log sees fit.
    case briefly
    /// Not at all.
    case never
}

/// The answer to ``KafkaPort/poll(maxRecords:wait:)``.
package enum PollResult {
    /// The commands at hand, and the partitions read to their current ends, past markers and aborted records. Both are empty if
    /// nothing happened.
    case records([CommandRecord], ends: [InputPosition])
    /// The bytes at this position are damaged, for this reason. Everything before was returned; nothing after it is until
    /// ``KafkaPort/start(at:)``.
    case damaged(InputPosition, String)
    /// The worker owns these partitions. It owned none before.
    case assigned(InputAssignment)
    /// The group revoked all partitions.
    case revoked
}

/// Which records a consumer sees.
package enum Isolation: Sendable {
    /// Those of committed transactions, up to the first undecided one.
    case committed
    /// All.
    case uncommitted
}
