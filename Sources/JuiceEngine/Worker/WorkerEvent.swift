import JuiceMessages

/// What a worker did, for logs and metrics.
public enum WorkerEvent: Sendable {
    /// It took over its transactional ids; predecessors are fenced.
    case started
    /// The group gave it these partitions, whose state it now restores.
    case assigned([Int32])
    /// The group took its partitions back.
    case revoked
    /// It has the state of these partitions and reads their commands.
    case restored(partitions: [Int32], RestoredState)
    /// A transaction is committed.
    case committed(TransactionSummary)
    /// A call is made again, for the `attempt`th time in a row, counted from 1.
    case retrying(LogError, attempt: Int)
    /// A transaction failed, or the worker cannot go on from what it believed: its changes are undone, its producers made anew,
    /// and its commands read again from where the log says.
    case startingOver(LogError)
    /// A partition is not read on until somebody mends it.
    case partitionStopped(Int32, PartitionFault)
    /// A partition only fails. It is tried again now and then, and the others are read on.
    case partitionFailing(Int32, PartitionFault)
    /// A partition that was failing works again.
    case partitionRecovered(Int32)
    /// The worker gave up.
    case failed(LogError)
    /// The worker left its group.
    case left
}

/// Why a partition is not read on.
public struct PartitionFault: Sendable, Equatable {
    /// What has to be mended.
    public enum Kind: Sendable, Equatable {
        /// The group's committed offset of that topic, or of both: what it says is no longer, or not yet, in the log.
        case offsets(InputTopic?)
        /// The latest stock record of a store.
        case stock
        /// A record of that topic, whose transaction fails.
        case record(InputTopic)
        /// That topic, which has no leader there.
        case leader(topic: String)
    }

    /// What has to be mended.
    public let kind: Kind
    /// What is wrong, in a sentence for a person.
    public let reason: String
    /// Where, if that is one place.
    public let offset: Offset?

    /// A fault of this kind.
    public init(_ kind: Kind, at offset: Offset? = nil, _ reason: String) {
        self.kind = kind
        self.offset = offset
        self.reason = reason
    }
}

/// What a worker has after restoring.
public struct RestoredState: Sendable, Equatable {
    /// Stores that were ever changed.
    public let stores: Int
    /// Commands whose repeats are known.
    public let commands: Int
    /// Records read for that; none where the state had been kept.
    public let records: Int

    /// So much state.
    public init(stores: Int, commands: Int, records: Int) {
        self.stores = stores
        self.commands = commands
        self.records = records
    }
}

/// What a worker holds in memory.
public struct HeldState: Sendable, Equatable {
    /// The partitions that it has the state of and reads.
    public let partitions: Int
    /// Their stores that were ever changed.
    public let stores: Int
    /// Their commands whose repeats are known.
    public let commands: Int
    /// The memory for the texts of answers to them, in bytes.
    public let templateBytes: Int
}

/// A record that was put aside, and why.
public struct DeadLetter: Sendable, Equatable {
    /// Where it was read.
    public let position: InputPosition
    /// Why it has no answer.
    public let reason: DeadLetterReason
}

/// What one transaction contained.
public struct TransactionSummary: Sendable, Equatable {
    /// Answers "juice made".
    public var juicesMade = 0
    /// Answers "out of stock".
    public var outOfStock = 0
    /// Answers "restocked".
    public var restocked = 0
    /// Answers "rejected".
    public var rejected = 0
    /// First answers given again.
    public var duplicates = 0
    /// Records that named no command, or whose answer the log would not take.
    public var deadLetters = 0
    /// The first of them.
    public var firstDeadLetter: DeadLetter?
    /// Commands handed on to the partition that owns their store.
    public var forwarded = 0
    /// Stores whose stock changed.
    public var storesChanged = 0
    /// First answers that were forgotten before the window said so, since the texts of answers took all the memory that
    /// they may.
    public var forgottenEarly = 0

    /// A transaction that contains nothing yet.
    public init() {}

    /// All records that were answered, put aside or handed on.
    public var commands: Int {
        juicesMade + outOfStock + restocked + rejected + duplicates + deadLetters + forwarded
    }
}
