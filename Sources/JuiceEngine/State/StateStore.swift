import JuiceMessages

/// The state that the commands of one partition have produced.
///
/// A value, so that a run of commands takes exclusive access to it once, not for each property of each command.
package struct StateStore {
    package var stores: StoreTable
    package var duplicates: DuplicateMemory
    var progress: JournalProgress
    /// Evidence that the inputs are still the same logs, for the next check.
    var evidence: InputFingerprints
    /// The number of journal records in the open transaction.
    var journalled = 0
    /// Whether a broker has refused the journal's times, so that the next transaction has this clock's.
    var isTimeRefused = false

    var partition: Int32 { progress.positions.storePartition }

    /// Prefetches what a command is about to need.
    func prefetch(_ command: ReceivedCommand) {
        duplicates.prefetch(command.fingerprint)
        stores.prefetch(command.storeKey)
    }

    /// Whether a record is read for the first time.
    func isNew(_ record: CommandRecord) -> Bool {
        progress.positions[record.topic, record.partition].map { record.offset >= $0 } ?? false
    }

    /// The time of the last journal record about a command, unless a broker has refused it.
    var earliestTime: Timestamp { isTimeRefused ? .min : progress.newest }

    /// The time of the next journal record, about a command sent at this time: no earlier than that time, this clock, or the record
    /// before it.
    @inline(__always)
    func nextTime(sentAt sent: Timestamp, now: Timestamp) -> Timestamp {
        isTimeRefused ? now : max(progress.newest, now, sent)
    }

    /// Applies that a record was handled, of which this transaction has the journal's record.
    @inline(__always)
    mutating func apply(_ record: CommandRecord, written: Timestamp, sent: Timestamp) {
        progress.apply(record.input, record.offset, written: written, sent: sent)
        progress.recordsSinceNote += 1
        journalled += 1
    }

    /// Remembers the first answer to a command, which is the next record of the journal. Returns the time from which it counts.
    mutating func remember(
        _ fingerprint: CommandFingerprint, _ command: ReceivedCommand, _ value: borrowing OutputBuffer, was: FormerOutcome,
        sentAt time: Timestamp
    ) -> Timestamp {
        duplicates.remember(
            command.head.command, fingerprint, value.unsafeBytes, at: journalled, was: was, sentAt: time)
    }

    // Mutating, because a call that only reads would copy all stored properties.
    mutating func answers(to command: ReceivedCommand, sentAt time: Timestamp) -> RememberedAnswers {
        RememberedAnswers(
            first: duplicates.firstAnswer(to: command.fingerprint, sentAt: time),
            rejectedCancel: command.rejectedCancel.flatMap { duplicates.firstAnswer(to: $0, sentAt: time) })
    }

    /// The offsets of answers that must be read back before these records can be answered.
    mutating func missingAnswers(
        for records: ArraySlice<CommandRecord>, at time: Timestamp, _ times: CommandTimes, by reader: CommandReader, most: Int
    ) -> Set<Offset> {
        var missing: Set<Offset> = []
        for record in records where isNew(record) {
            guard missing.count < most else { break }
            guard case .command(let command, _) = reader.read(record) else { continue }
            let known = answers(to: command, sentAt: times.effective(record.timestamp, readAt: time))
            for case let answer? in [known.first, known.rejectedCancel] where !isAtHand(answer) { missing.insert(answer.offset) }
        }
        return missing
    }

    /// Whether an answer's bytes are in memory, or known to be lost.
    func isAtHand(_ answer: DuplicateMemory.FirstAnswer?) -> Bool { answer.map(duplicates.hasValue) ?? true }

    /// Whether a command was forwarded here before. If not, remembers it.
    mutating func isCopy(_ command: ReceivedCommand, _ topic: InputTopic) -> Bool {
        guard let source = command.head.from else { return false }
        let (fingerprint, place) = (command.fingerprint, source.position(in: topic))
        // A command in memory is a repeat, even with a forged place. Others are new, if memory reaches back far enough.
        let isCopy =
            progress.forwards.isCopy(fingerprint, from: place)
            ?? (!duplicates.remembers(fingerprint)
                && progress.forwards.mayBeAnswered(place, before: duplicates.forgottenBefore))
        if !isCopy { progress.forwards.append(fingerprint, from: place) }
        return isCopy
    }
}

extension RecordPosition {
    func position(in topic: InputTopic) -> InputPosition { InputPosition(topic: topic, partition: partition, offset: offset) }
}

/// What is remembered of a command.
struct RememberedAnswers {
    /// The first answer, or the answer to the cancel that took the order back.
    let first: DuplicateMemory.FirstAnswer?
    /// The answer to a cancel that was rejected. Only a cancel asks for it.
    let rejectedCancel: DuplicateMemory.FirstAnswer?
}
