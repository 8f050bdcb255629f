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
    /// It kept the state of the first ones and reads their commands, while it restores the others.
    case resumed([Int32], restoring: [Int32])
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

/// What a worker holds in memory: the partitions that it reads, their stores that ever changed, and the commands whose repeats it
/// recognizes.
package struct HeldState: Sendable {
    package let partitions: Int
    package let stores: Int
    package let commands: Int
}
