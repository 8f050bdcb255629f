import JuiceMessages

/// What a worker did, for logs and metrics.
public enum WorkerEvent: Sendable {
    /// It made its first producers. They claim nothing before the first assignment.
    case started
    /// The group assigned it these partitions. It restores their state.
    case assigned([Int32])
    /// The group revoked its partitions.
    case revoked
    /// It restored these partitions and reads their commands.
    case restored(partitions: [Int32], RestoredState)
    /// A transaction is committed.
    case committed(TransactionSummary)
    /// A call failed and is made again, for the `attempt`th time in a row, counted from 1.
    case retrying(LogError, attempt: Int)
    /// A transaction failed or its outcome is unknown. The worker undoes its changes and takes its partitions over anew.
    case startingOver(LogError)
    /// A partition is not read until an operator repairs it.
    case partitionStopped(Int32, PartitionFault)
    /// A partition keeps failing. It is retried at intervals while the others are read.
    case partitionFailing(Int32, PartitionFault)
    /// A partition that was failing works again.
    case partitionRecovered(Int32)
    /// A partition's stock topic was made anew, or has lost its end. The worker writes all of it again, from memory.
    case stockRewritten(Int32)
    /// The worker gave up. It takes no further step.
    case failed(LogError)
    /// The worker left its group.
    case left
}

/// Why a partition is not read.
public struct PartitionFault: Error, Sendable, Equatable {
    /// What is wrong.
    public enum Kind: Sendable, Equatable {
        /// The partition of an input: its position is outside of its log, or it is another log than the one that was read.
        case input(InputPartition)
        /// The results: they are not the journal that was written, or cannot be read.
        case journal
        /// The stock: it lacks changes, or cannot be read.
        case stock
        /// A record of this topic, whose transactions fail.
        case record(InputTopic)
        /// The partition of this topic, which has no leader.
        case leader(topic: String)
    }

    /// What is wrong.
    public let kind: Kind
    /// The same, for people.
    public let reason: String
    /// The offset concerned, if it is a single one.
    public let offset: Offset?
    /// Positions at which an operator can let reading go on, with an anchor.
    public let anchors: [InputPosition]

    /// A fault.
    public init(_ kind: Kind, at offset: Offset? = nil, _ reason: String, anchors: [InputPosition] = []) {
        self.kind = kind
        self.offset = offset
        self.reason = reason
        self.anchors = anchors
    }

    /// The same fault, with positions at which reading can go on.
    func anchored(at positions: [InputPosition]) -> PartitionFault {
        PartitionFault(kind, at: offset, reason, anchors: positions)
    }
}

/// A partition that cannot be read for now, or until it is repaired, and why.
struct PartitionFailure: Equatable {
    let partition: Int32
    let fault: PartitionFault

    init(_ partition: Int32, _ fault: PartitionFault) { (self.partition, self.fault) = (partition, fault) }
}

/// The state of a worker after restoring.
public struct RestoredState: Sendable, Equatable {
    /// Stores that ever changed.
    public let stores: Int
    /// Commands whose repeats are known.
    public let commands: Int
    /// Records read from the changelogs; 0 if the state had been kept.
    public let records: Int

    /// The size of the restored state.
    public init(stores: Int, commands: Int, records: Int) {
        self.stores = stores
        self.commands = commands
        self.records = records
    }
}

/// What a worker holds in memory.
public struct HeldState: Sendable, Equatable {
    /// The partitions that it reads.
    public let partitions: Int
    /// Their stores that ever changed.
    public let stores: Int
    /// Their commands whose repeats are known.
    public let commands: Int
}

/// A record that became a dead letter, and why.
public struct DeadLetter: Sendable, Equatable {
    /// Its position.
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
    /// Orders taken back.
    public var cancelled = 0
    /// Answers "rejected".
    public var rejected = 0
    /// Repeats, answered with the first answer again.
    public var duplicates = 0
    /// Records that became dead letters: they name no command, or the log refused their answer.
    public var deadLetters = 0
    /// The first of the dead letters.
    public var firstDeadLetter: DeadLetter?
    /// Commands forwarded to the partition that owns their store.
    public var forwarded = 0
    /// Forwarded commands that were here before.
    public var copies = 0
    /// Stores whose stock was written.
    public var storesWritten = 0
    /// Answers that were read back from the journal, before it, for repeats in it.
    public var answersReadBack = 0

    /// The summary of an empty transaction.
    public init() {}

    /// All records that were answered, forwarded, made dead letters or found to be copies.
    public var commands: Int {
        juicesMade + outOfStock + restocked + cancelled + rejected + duplicates + deadLetters + forwarded + copies
    }
}
