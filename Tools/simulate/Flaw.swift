/// A way to break exactly-once processing that would pass a code review. The auditor must find each.
enum Flaw: String, CaseIterable, Sendable {
    // Who may write.

    /// No id is fenced before a claim.
    case fenceLeftOut
    /// A claim is written although fencing failed.
    case failedFenceIgnored
    /// Ids are fenced only after the claim.
    case fenceAfterClaim
    /// Only the first producer is initialized before the claim, the second at its first use.
    case secondIDInitialisedLate
    /// Only the ids of the last claim are fenced, not those of earlier claims from its `since` on.
    case claimWithoutSince
    /// Claims in undecided transactions are not read.
    case undecidedClaimsNotRead
    /// Claims between the journal's end as read and the worker's own claim are not read.
    case noSecondLook
    /// Claims in between are fenced, but the journal is not read beyond the worker's own claim.
    case notReadAgain
    /// Claims in between are fenced and the journal is read to its end, but the partition is not claimed again.
    case notClaimedAgain
    /// Only the first producers of an assignment claim, not those made after an error.
    case claimedOncePerAssignment
    /// Another group's claim passes for one of the worker's own group.
    case otherGroupNotNoticed
    /// A producer continues after a successor took over its transactional id.
    case noProducerFence
    /// Brokers do not ask the coordinator whether a partition is part of the transaction.
    case transactionsNotVerified

    // Transactions.

    /// After a failed transaction the producer aborts it and continues in the same epoch.
    case secondPath
    /// A transaction begins before the other producer's is committed.
    case transactionsOverlap
    /// Forwarded commands and their notes are sent together.
    case notesAndForwardsInOneFlush
    /// A transaction is committed although one of its records was not delivered.
    case failedDeliveryIgnored
    /// A position note says where its own transaction ends.
    case positionsNotedAhead
    /// A transaction goes on without a record that a topic refuses.
    case refusedRecordSkipped
    /// A failed transaction leaves its changes in the stock.
    case stockNotUndone
    /// A failed transaction leaves its answers in memory, so commands that are read again look like repeats.
    case answersNotUndone

    // Reading.

    /// After a failed transaction, reading continues where it was.
    case notRewound
    /// The first record after an assignment is dropped.
    case polledRecordDropped
    /// Commands and changelogs are read with `read_uncommitted`.
    case abortedRecordsRead
    /// A worker reads the restocks assigned to it, even if another has the partition's orders.
    case restocksReadAsGiven
    /// Added partitions are read from their ends, so records sent before the assignment are skipped.
    case newPartitionsReadFromTheirEnd
    /// Markers at the end of a log are never passed, so the partition seems to lag for ever.
    case markersNotPassed
    /// The age of commands and the restore time depend on the reader's clock.
    case windowByReadersClock
    /// A command's timestamp counts only if this machine's clock agrees, although brokers have checked it.
    case timesJudgedByClock
    /// A journal record has this machine's time, even if its command or the record before it has a later one.
    case journalTimesOfClock
    /// A restore takes a journal record's timestamp for its command's.
    case sentTimeNotRestored
    /// Intervals are measured by the time of day, and clock jumps go unnoticed.
    case intervalsOfWallClock
    /// The sources of forwarded commands are not restored, so second copies are answered.
    case copiesAnsweredTwice

    // Restoring.

    /// A store's level is misread, from its stock record or an answer.
    case levelMisread
    /// A position note is read as if the input's next record were handled.
    case positionMisread
    /// State is kept across a rebalance, even if another worker owned the partition meanwhile.
    case stateKeptBlindly
    /// At assignment, only answers that the stock may lack are restored.
    case answersNotReadBack
    /// Answers are not applied to the restored stock, which may lack the last ones.
    case answersNotAppliedOverStock
    /// Answers are applied to the restored stock, but the result is not written to the topic.
    case stockNotRewritten
    /// Cancels that returned fruits are not restored at assignment, so a repeat of one returns them again.
    case cancelReturnsTwice
    /// Cancels that preceded their orders are not restored at assignment, so those orders are made.
    case earlyCancelForgotten
    /// A repeat gets the contents of the answer before its own.
    case answerOfAnotherCommand
    /// A store is restored with its last revision but one, so the next change repeats a revision.
    case revisionRepeats
    /// A basket is made if there is enough for each of its items alone.
    case basketJudgedItemByItem
    /// Commands for unknown stores are executed.
    case unknownStoresServed

    // How much there must be.

    /// The restored stores' revisions are not compared with the sums in the last position note.
    case sumsNotClosed
    /// The records between two position notes are not counted.
    case recordsNotCounted
    /// Missing position notes go unnoticed.
    case chainNotFollowed
    /// A position note names an oldest answer that is in the log, even if repeats may ask for an older one.
    case oldestNotHeld
    /// A stock that lacks changes is rebuilt from answers, even if they were given with another menu.
    case menuNotCompared
    /// The last handled records that position notes name are not compared with the inputs.
    case lastNotCompared
    /// A gap between the revisions of a store's answers is not noticed.
    case gapNotNoticed
    /// A repeat whose first answer is lost gets the wrong outcome.
    case lostAnswerMisreported
    /// An anchor is written although the operator has not accepted the loss.
    case anchorWithoutAccept
    /// A partition is claimed while another program's transaction is open in it.
    case openTransactionsNotWaitedFor

    // Storage.

    /// Reading continues at the old position after a topic was recreated.
    case logSamenessNotChecked
    /// A log that lost its end still counts as long as before.
    case truncationNotNoticed
    /// A damaged record is read as if it were whole.
    case damagedRecordTaken
}
