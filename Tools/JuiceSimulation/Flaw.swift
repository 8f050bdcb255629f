/// A way to break exactly-once processing that would pass a code review. The auditor must find each.
package enum Flaw: String, CaseIterable, Sendable {
    /// A failed transaction leaves its changes in the stock.
    case stockNotUndone
    /// A failed transaction leaves its answers in the memory, so commands that are read again look like repeats.
    case answersNotUndone
    /// After a failed transaction, reading continues where it was.
    case notRewound
    /// State is restored up to the last stable offset, not to the true end of the log.
    case restoredToLastStableOffset
    /// Committed offsets are read while a transaction on them is undecided.
    case unstableOffsets
    /// Offsets are committed immediately, outside the transaction.
    case offsetsOutsideTransaction
    /// Forwarded commands are written immediately, outside the transaction.
    case forwardedOutsideTransaction
    /// Offsets are sent with the current membership, not the one at assignment.
    case noGenerationFence
    /// A producer continues after a successor took over its transactional id.
    case noProducerFence
    /// A transaction is committed although one of its records was not delivered.
    case failedDeliveryIgnored
    /// Commands and changelogs are read with `read_uncommitted`.
    case abortedRecordsRead
    /// Answers are not restored at assignment.
    case answersNotReadBack
    /// Cancels that returned fruits are not restored at assignment, so a repeat of one returns them again.
    case cancelReturnsTwice
    /// Cancels that came before their orders are not restored at assignment, so the orders are made when they come.
    case earlyCancelForgotten
    /// A basket is made if there is enough for each of its items alone.
    case basketJudgedItemByItem
    /// A store is restored with the revision before its last, which is given to another change.
    case revisionRepeats
    /// State is kept over a rebalance, even if another worker had the partition meanwhile.
    case stateKeptBlindly
    /// A producer continues although one of its requests may still be under way.
    case suspectsKept
    /// A suspect is replaced before its own next transaction, not already before the other producer's.
    case suspectReplacedInItsTurn
    /// A producer becomes a suspect only after a call much longer than the client's resend time.
    case suspectThresholdTooHigh
    /// A producer that may have offsets under way takes its transactional id over, but does not move on to another.
    case idKept
    /// A producer that may have offsets under way returns to an id that it has left not long ago.
    case idUsedAgainTooSoon
    /// A producer sends offsets while the group has yet to apply those of its last transaction.
    case offsetsNotAwaited
    /// After a failed transaction the producers abort it and continue in the same epoch.
    case secondPath
    /// The age of commands and the answer horizon depend on the reader's clock.
    case windowByReadersClock
    /// A worker reads the restocks assigned to it, even if another has the partition's orders.
    case restocksReadAsGiven
    /// Added partitions are read from their ends, past what was sent before they were assigned.
    case newPartitionsReadFromTheirEnd
    /// Markers at the end of a log are never passed, so the partition seems to lag for ever.
    case markersNotPassed
    /// The restock bot names a refill after its read position.
    case refillIDNotDeterministic
    /// The restock bot commits its read position, past shortages that are not refilled yet.
    case refillPositionNotHeld
}
