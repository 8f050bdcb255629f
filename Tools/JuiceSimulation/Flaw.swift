/// A way to break exactly-once processing that looks reasonable in a code review. The auditor has to find each.
package enum Flaw: String, CaseIterable, Sendable {
    /// A failed transaction leaves the fruit taken.
    case stockNotUndone
    /// A failed transaction leaves its answers remembered, so that commands read again seem to be repeats.
    case answersNotUndone
    /// After a failed transaction, reading goes on where it was.
    case notRewound
    /// State is restored up to the last stable offset, not to the log's true end.
    case restoredToLastStableOffset
    /// Committed offsets are taken although a transaction is undecided about them.
    case unstableOffsets
    /// Offsets are committed at once, not by the transaction.
    case offsetsOutsideTransaction
    /// Forwarded commands are written at once, not by the transaction.
    case forwardedOutsideTransaction
    /// Offsets are sent as whoever owns the partitions now, not as at assignment.
    case noGenerationFence
    /// A producer goes on although a successor took over its transactional id.
    case noProducerFence
    /// A record that could not be delivered does not keep the transaction from being committed.
    case failedDeliveryIgnored
    /// Commands and changelogs are read with what was aborted.
    case abortedRecordsRead
    /// Answers are not read back at assignment.
    case answersNotReadBack
    /// State is kept over a rebalance, even if another worker had the partition meanwhile.
    case stateKeptBlindly
    /// A producer goes on although one of its requests may still be on its way.
    case suspectsKept
    /// A suspect is replaced before its own next transaction, and not before the other producer's.
    case suspectReplacedInItsTurn
    /// Only calls that took much longer than a client takes to send a request again make a producer a suspect.
    case suspectThresholdTooHigh
    /// After a failed transaction the producers abort it and go on under the same epoch.
    case secondPath
    /// How old a command is, and how far back answers are wanted, is told by the clock of whoever reads.
    case windowByReadersClock
    /// The restocks of a partition are read by whoever was given them, even if another has its orders.
    case restocksReadAsGiven
    /// Partitions that were added are read from their ends on, past what was sent before they were assigned.
    case newPartitionsReadFromTheirEnd
    /// Markers at a log's end are never passed, so that the partition seems to lag for ever.
    case markersNotPassed
    /// The restock bot names a refill after how far it has read.
    case refillIDNotDeterministic
    /// The restock bot commits how far it has read, past shortages that are not refilled yet.
    case refillPositionNotHeld
}
