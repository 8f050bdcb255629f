import JuiceMessages

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

/// What one transaction contained: answers of each type, and records that have none.
package struct TransactionSummary: Sendable, Equatable {
    /// Answers but for those given again.
    package var answers = AnswerCounts()
    /// Repeats, answered with the first answer again.
    package var duplicates = 0
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
    package var commands: Int { answers.total + duplicates + deadLetters + forwarded + copies }
}
