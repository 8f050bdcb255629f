import JuiceMessages

/// What a worker did, for logs and metrics.
package enum WorkerEvent: Sendable {
    /// It made its first producers. They claim nothing before the first assignment.
    case started
    /// The group assigned it these partitions. It restores their state.
    case assigned([Int32])
    /// The group revoked its partitions.
    case revoked
    /// It restored these partitions from this many changelog records, 0 if their states were kept, and reads their commands.
    case restored(partitions: [Int32], HeldState, records: Int)
    /// A transaction is committed.
    case committed(TransactionSummary)
    /// A call failed and is made again, for the `attempt`th time in a row, counted from 1.
    case retrying(LogError, attempt: Int)
    /// A transaction failed or its outcome is unknown. The worker undoes its changes and takes its partitions over again.
    case startingOver(LogError)
    /// Brokers refuse this machine's time. The worker leaves its partitions to others for a while.
    case clockRefused(LogError)
    /// A partition is not read until an operator repairs it.
    case partitionStopped(Int32, PartitionFault)
    /// A partition keeps failing. It is retried at intervals while the others are read.
    case partitionFailing(Int32, PartitionFault)
    /// A partition that was failing works again.
    case partitionRecovered(Int32)
    /// A partition's stock topic was recreated or lost records, or another program wrote to it. The worker writes all of it again,
    /// from memory.
    case stockRewritten(Int32)
    /// Answers that repeats may ask for until this time were deleted from a partition's journal. A worker that started before then
    /// would not know them.
    case answersDeleted(Int32, until: Timestamp)
    /// The worker gave up. It takes no further step.
    case failed(LogError)
    /// The worker left its group.
    case left
}

/// Why a partition is not read.
package struct PartitionFault: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// An input partition: its position is outside its log, or its log is not the one that was read.
        case input(InputPartition)
        /// An input partition: processes end before they handle any of its records.
        case deadly(InputPartition)
        /// The results: they are not the journal that was written, or cannot be read.
        case journal
        /// The results: they lack answers that repeats may ask for. A running owner still knows the commands.
        case answers
        /// The stock: it lacks changes, or cannot be read.
        case stock
        /// A record of this topic, whose transactions fail.
        case record(InputTopic)
        /// This topic, which refuses what is written to it.
        case topic(Topic)
        /// The partition of this topic, which has no leader.
        case leader(topic: String)
        /// Another program's transaction in this topic, which stays open.
        case transaction(ChangelogTopic)
        /// The transactional id of a former owner, whose transaction the coordinator cannot end.
        case owner(id: String)
    }

    package let kind: Kind
    /// A description for operators.
    package var reason: String
    /// The offset concerned, if it is a single one.
    package let offset: Offset?
    /// Positions from which an operator can let reading go on, with an anchor.
    package var anchors: [InputPosition]
    /// How many records and changes journal and stock lack. An anchor must repeat this number, to accept the loss.
    package let missing: Int64

    package init(
        _ kind: Kind, at offset: Offset? = nil, _ reason: String, anchors: [InputPosition] = [], missing: Int64 = 0
    ) {
        (self.kind, self.offset, self.reason) = (kind, offset, reason)
        (self.anchors, self.missing) = (anchors, missing)
    }
}

extension PartitionFault {
    /// A journal that has lost records at its end.
    static func lostEnd(of extents: PartitionExtents, missing: Int64, anchors: [InputPosition] = []) -> Self {
        let end = extents.results.upperBound
        return PartitionFault(
            .journal, at: end,
            "results [\(extents.partition)] ends at offset \(end), and lacks \(missing) records that were written: the topic was"
                + " recreated, or lost its end. Their commands were answered; a repeat of one would be carried out again",
            anchors: anchors, missing: missing)
    }
}

/// A partition that cannot be read for now, and why.
typealias PartitionFailure = (partition: Int32, fault: PartitionFault)

/// What a worker holds in memory: the partitions that it reads, their stores that ever changed, and the commands whose repeats it
/// recognizes.
package struct HeldState: Sendable {
    package let partitions: Int
    package let stores: Int
    package let commands: Int
}

/// Records of one transaction that have no answer, all for the same reason.
package struct DeadLetters: Sendable, Equatable {
    package let reason: DeadLetterReason
    /// Where the first of them was read.
    package let first: InputPosition
    package var count: Int

    package init(_ reason: DeadLetterReason, first: InputPosition, count: Int) {
        (self.reason, self.first, self.count) = (reason, first, count)
    }
}

/// What one transaction contained: answers of each kind, and records that have none.
package struct TransactionSummary: Sendable, Equatable {
    package var juicesMade = 0
    package var outOfStock = 0
    package var restocked = 0
    package var cancelled = 0
    package var rejected = 0
    /// Repeats, answered with the first answer again.
    package var duplicates = 0
    /// Repeats, and cancels of orders that were made, whose first answers are lost.
    package var answersLost = 0
    /// Records that became dead letters, by reason.
    package var deadLettersByReason: [DeadLetters] = []
    /// Commands forwarded to the partition that owns their store.
    package var forwarded = 0
    /// Second copies of forwarded commands.
    package var copies = 0
    /// Stores whose stock was written.
    package var storesWritten = 0
    /// Answers that were read back from the journal before this transaction, for repeats in it.
    package var answersReadBack = 0

    package var deadLetters: Int { deadLettersByReason.reduce(0) { $0 + $1.count } }

    /// All records that were handled.
    package var commands: Int {
        juicesMade + outOfStock + restocked + cancelled + rejected + duplicates + answersLost + deadLetters + forwarded
            + copies
    }
}
