/// A way to break exactly-once processing that would pass a code review. The auditor must find each.
enum Flaw: String, CaseIterable, Sendable {
    // Who may write.

    /// Nobody is fenced before a claim.
    case fenceLeftOut
    /// A claim is written although fencing failed.
    case failedFenceIgnored
    /// Others are fenced only after the claim.
    case fenceAfterClaim
    /// Only the first producer is made before the claim, the second when it is used first.
    case secondIDInitialisedLate
    /// Only the ids of the last claim are fenced, not those of all claims since what its writer had read.
    case claimWithoutSince
    /// Claims of undecided transactions are not looked for.
    case undecidedClaimsNotRead
    /// Claims that came between reading the journal and the own claim are not looked for.
    case noSecondLook
    /// Claims that came in between are fenced, but the journal is not read beyond the own claim.
    case notReadAgain
    /// Claims that came in between are fenced and the journal is read to its end, but the partition is not claimed again.
    case notClaimedAgain
    /// Only the first producers of an assignment claim, not those made after an error.
    case claimedOncePerAssignment
    /// Another group's claim is taken for one of the own group.
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
    /// Forwarded commands and the notes of them are sent together.
    case notesAndForwardsInOneFlush
    /// A transaction is committed although one of its records was not delivered.
    case failedDeliveryIgnored
    /// A position note says where its own transaction ends.
    case positionsNotedAhead
    /// A transaction goes on without a record that a topic refuses.
    case refusedRecordSkipped
    /// A failed transaction leaves its changes in the stock.
    case stockNotUndone
    /// A failed transaction leaves its answers in the memory, so commands that are read again look like repeats.
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
    /// Added partitions are read from their ends, past what was sent before they were assigned.
    case newPartitionsReadFromTheirEnd
    /// Markers at the end of a log are never passed, so the partition seems to lag for ever.
    case markersNotPassed
    /// The age of commands and the restore time depend on the reader's clock.
    case windowByReadersClock
    /// A command's time is believed only if this machine's clock agrees, though brokers have judged it.
    case timesJudgedByClock
    /// A journal record has the time of this machine's clock, even if that of its command or of the record before is later.
    case journalTimesOfClock
    /// A restore takes the time of a journal record for that of its command.
    case sentTimeNotRestored
    /// Intervals are measured by the time of day, and jumps of that are not noticed.
    case intervalsOfWallClock
    /// Where forwarded commands came from is not restored, so their copies are answered.
    case copiesAnsweredTwice

    // Restoring.

    /// A level of a store is read wrong, from its stock record or an answer.
    case levelMisread
    /// A position note is read as if the input's next record were handled.
    case positionMisread
    /// State is kept over a rebalance, even if another worker had the partition meanwhile.
    case stateKeptBlindly
    /// Answers are not restored at assignment, but for those that the stock may lack.
    case answersNotReadBack
    /// Answers are not applied over the stock, which may lack the last ones.
    case answersNotAppliedOverStock
    /// What answers were applied over the stock is not written to it.
    case stockNotRewritten
    /// Cancels that returned fruits are not restored at assignment, so a repeat of one returns them again.
    case cancelReturnsTwice
    /// Cancels that came before their orders are not restored at assignment, so the orders are made when they come.
    case earlyCancelForgotten
    /// A repeat gets what the answer before its own says.
    case answerOfAnotherCommand
    /// A store is restored with the revision before its last, which is given to another change.
    case revisionRepeats
    /// A basket is made if there is enough for each of its items alone.
    case basketJudgedItemByItem
    /// Commands of stores that the service does not know are carried out.
    case unknownStoresServed

    // How much there must be.

    /// The revisions of the restored stores are not compared with the sums of the last position note.
    case sumsNotClosed
    /// The records between two position notes are not counted.
    case recordsNotCounted
    /// Position notes that are gone are not missed.
    case chainNotFollowed
    /// A position note names an oldest answer that is there, even if repeats may ask for an older one.
    case oldestNotHeld
    /// A stock that lacks changes is made from answers, whatever menu they were given by.
    case menuNotCompared
    /// What position notes say of the last handled records is not compared with the inputs.
    case lastNotCompared
    /// A gap between the revisions of a store's answers is not noticed.
    case gapNotNoticed
    /// A repeat whose first answer is lost gets another account of what became of it.
    case lostAnswerMisreported
    /// An anchor is written although nobody has accepted what is missing.
    case anchorWithoutAccept
    /// A partition is claimed while another program's transaction is open in it.
    case openTransactionsNotWaitedFor

    // Storage.

    /// A topic that was recreated is read on at the old position.
    case logSamenessNotChecked
    /// A log that lost its end is taken for as long as it was.
    case truncationNotNoticed
    /// A damaged record is read as if it were whole.
    case damagedRecordTaken
}
