import JuiceDomain
import JuiceMessages

/// The transaction of one batch: answers its commands, changes their stores, and writes the records, one after the other.
///
/// Forwarded commands and dead letters are flushed before the notes about them are written: see "A transaction" in docs/JOURNAL.md.
/// After the first of them, the journal's records are deferred until that flush.
///
/// In steady state an order allocates nothing: its texts are views into the record, and its answer is written from one reused
/// content into one reused buffer.
struct Transaction: ~Copyable {
    private let context: WorkerContext
    private let log: any KafkaPort
    /// When its batch was read.
    private let time: Timestamp
    /// What to cut from the batch's only record.
    private let cut: Cut
    private(set) var summary = TransactionSummary()
    private var answer = AnswerContent()
    private var buffer = OutputBuffer()
    /// Journal records to write after a flush; nil unless a record has left the partition.
    private(set) var deferred: DeferredRecords?

    init(on log: any KafkaPort, context: WorkerContext, at time: Timestamp, cut: Cut = [], answersReadBack: Int = 0) {
        (self.log, self.context, self.time, self.cut) = (log, context, time, cut)
        summary.answersReadBack = answersReadBack
    }

    // MARK: - Commands

    /// Answers or forwards the records of one partition, or writes dead letters, and updates its state. Records that were applied
    /// before are skipped. Each is read one ahead, and its store and id are prefetched: among a million, they are rarely cached.
    ///
    /// - Returns: how many records are done. Any next one is a repeat whose answer must be read back first.
    mutating func process(_ records: Span<CommandRecord>, of state: inout StateStore) throws(LogError) -> Int {
        var done = records.count
        var ahead = read(records, at: 0, state)
        run: for index in records.indices {
            let next = read(records, at: index + 1, state)
            // Moved, not copied.
            let reading = exchange(&ahead, with: next)
            let record = records[index]
            guard state.isNew(record) else { continue }
            let sent = context.settings.times.effective(record.timestamp, readAt: time)
            let note: JournalNote?
            switch consume reading {
            case .command(let command, let content):
                let known = state.answers(to: command, sentAt: sent)
                guard state.isAtHand(known.first), state.isAtHand(known.rejectedCancel) else {
                    done = index
                    break run
                }
                note = try respond(to: command, content, known, record, sentAt: sent, &state)
            case .undecodable(let reason): note = try writeDeadLetter(record, because: reason)
            case .misrouted(let owner): note = try forward(record, sentAt: sent, to: owner)
            case .end: break run
            }
            if let note {
                let noted = JournalRecord(note, to: state.partition)
                state.progress.apply(noted)
                if let digest = noted.digest { state.evidence.append(record.input, record.offset, .record(digest)) }
                buffer.removeAll()
                note.write(into: &buffer)
                try writeToJournal(about: record, sentAt: sent, &state)
            }
        }
        rememberLast(.orders, of: records, before: done, &state)
        rememberLast(.restocks, of: records, before: done, &state)
        return done
    }

    /// Remembers the digest of a topic's last record if it was answered. That reads the record again, but only once a run.
    private func rememberLast(_ topic: InputTopic, of records: Span<CommandRecord>, before end: Int, _ state: inout StateStore) {
        var index = end - 1
        while index >= 0, records[index].topic != topic { index -= 1 }
        guard index >= 0 else { return }
        let record = records[index]
        // If the record was not answered, its note has the digest.
        guard state.progress.last[topic, record.partition]?.offset != record.offset,
            state.progress.positions[topic, record.partition] == record.offset + 1,
            case .command(let command, _) = context.commandReaders.0.read(record)
        else { return }
        state.progress.last[topic, record.partition] = HandledRecord(offset: record.offset, digest: RecordDigest(of: command.head))
    }

    @inline(__always)
    private func read(_ records: Span<CommandRecord>, at index: Int, _ state: borrowing StateStore)
        -> CommandReader.ReceivedRecord
    {
        guard index < records.count else { return .end }
        let reading = index & 1 == 0 ? context.commandReaders.0.read(records[index]) : context.commandReaders.1.read(records[index])
        switch reading {
        case .command(let command, _): state.prefetch(command)
        default: break
        }
        return reading
    }

    /// Answers a command: a repeat as before, a new one by carrying it out.
    ///
    /// - Returns: the command's note if it gets no answer, because it is a second copy or its headers cannot be read.
    @inline(__always)
    private mutating func respond(
        to command: ReceivedCommand, _ content: consuming CommandContent, _ known: RememberedAnswers, _ record: CommandRecord,
        sentAt sent: Timestamp, _ state: inout StateStore
    ) throws(LogError) -> JournalNote? {
        guard let headers = log.headers(of: record) else { return try writeDeadLetter(record, because: .badHeaders) }
        guard !headers.isEmpty else {
            try answer(command, content, known, record, [], sentAt: sent, &state)
            return nil
        }
        var command = command
        command.setSource(from: headers)
        if state.isCopy(command, record.topic) {
            summary.copies += 1
            return .copy(place(of: record))
        }
        try answer(command, content, known, record, headers.ofTraces, sentAt: sent, &state)
        return nil
    }

    private mutating func answer(
        _ command: ReceivedCommand, _ content: consuming CommandContent, _ known: RememberedAnswers, _ record: CommandRecord,
        _ headers: [MessageHeader], sentAt sent: Timestamp, _ state: inout StateStore
    ) throws(LogError) {
        buffer.removeAll()
        var counted = sent
        if command.head.command == .cancel {
            counted = writeCancel(command, known, sentAt: sent, &state)
        } else if let first = known.first, first.isCancelled {
            // Not remembered: for this id, memory keeps the cancel.
            context.answerEncoder.write(Rejection.cancelled, command.head, into: &buffer)
            summary.answers.add(.rejected)
        } else if let first = known.first {
            writeAgain(first, for: command, state)
        } else {
            if isOfUnknownStore(command) { content = .reject(.unknown(store: command.head.store)) }
            let was = execute(content, command, &state.stores)
            _ = state.remember(command.fingerprint, command, buffer, was: was, sentAt: sent)
        }
        state.evidence.append(record.input, record.offset, .command(command.fingerprint, command.head.command))
        try writeToJournal(about: record, key: command.head.store, headers, sentAt: sent, countedFrom: counted, &state)
    }

    private mutating func writeAgain(
        _ first: DuplicateMemory.FirstAnswer, for command: ReceivedCommand, _ state: borrowing StateStore
    ) {
        let isGiven: Void? = state.duplicates.withValue(of: first) { buffer.append(repeating: $0, for: command.head) }
        if isGiven == nil { writeLost(first, for: command) } else { summary.duplicates += 1 }
    }

    private mutating func writeLost(_ first: DuplicateMemory.FirstAnswer, for command: ReceivedCommand) {
        context.answerEncoder.write(lost: first.was, command.head, into: &buffer)
        summary.answers.add(.answerLost)
    }

    /// Changes the store, and writes the answer or the rejection.
    ///
    /// - Returns: what became of the command; of the order, if its cancel is rejected.
    @discardableResult
    private mutating func execute(
        _ content: consuming CommandContent, _ command: ReceivedCommand, _ stores: inout StoreTable
    ) -> FormerOutcome {
        let kind = command.head.command
        do throws(Rejection) {
            try stores.carryOut(content, on: command.storeKey, by: context.maker, &answer)
            summary.answers.add(answer.type)
            context.answerEncoder.write(answer, command.head, into: &buffer)
            return FormerOutcome(of: kind, isCarriedOut: answer.type != .outOfStock)
        } catch {
            context.answerEncoder.write(error, command.head, into: &buffer)
            summary.answers.add(.rejected)
            return FormerOutcome(of: kind, isCarriedOut: false)
        }
    }

    /// - Returns: the time from which the cancel counts.
    private mutating func writeCancel(
        _ command: ReceivedCommand, _ known: RememberedAnswers, sentAt sent: Timestamp, _ state: inout StateStore
    ) -> Timestamp {
        if let first = known.first.flatMap({ $0.isCancelled ? $0 : nil }) ?? known.rejectedCancel {
            writeAgain(first, for: command, state)
            return sent
        }
        // An answered order is taken back even if its store is no longer known. Any other cancel is rejected, and not remembered:
        // once the store is known, the order may come, and the cancel again.
        if known.first == nil, isOfUnknownStore(command) {
            execute(.reject(.unknown(store: command.head.store)), command, &state.stores)
            return sent
        }
        answer.fruits.removeAll()
        // What the order took is unknown, so it stays made. Not remembered: nothing has changed.
        if let first = known.first, !setFruits(takenBy: first, state.duplicates) {
            writeLost(first, for: command)
            return sent
        }
        let was = execute(.cancel, command, &state.stores)
        let fingerprint = was == .cancelled ? nil : command.rejectedCancel
        return state.remember(fingerprint ?? command.fingerprint, command, buffer, was: was, sentAt: sent)
    }

    @inline(__always)
    private func isOfUnknownStore(_ command: ReceivedCommand) -> Bool {
        context.settings.stores.map { $0.find(command.storeKey) == nil } ?? false
    }

    /// Sets the answer's fruits to those that an order took and that are still on the menu.
    ///
    /// - Returns: whether it is known what the order took.
    private mutating func setFruits(takenBy order: DuplicateMemory.FirstAnswer, _ duplicates: borrowing DuplicateMemory) -> Bool {
        guard order.was == .made else { return true }
        let read = duplicates.withValue(of: order, { try? context.answerDecoder.decode($0) })
        guard case .juiceMade(_, let used, _)? = read??.outcome else { return false }
        answer.setFruits(to: used, of: context.maker.menu)
        return true
    }

    // MARK: - Commands of other partitions, and dead letters

    /// Forwards a command to the partition that owns its store, with the same bytes and headers, and the time of sending, from
    /// which the duplicate window counts. If the topic has refused the time, the record has that of forwarding; if it has refused a
    /// large record for any other reason, no headers but those of traces.
    ///
    /// A command is forwarded only once. If it was forwarded already, it was misplaced on purpose, or by a process that assumes
    /// another number of partitions.
    private mutating func forward(
        _ record: CommandRecord, sentAt sent: Timestamp, to owner: Int32
    ) throws(LogError) -> JournalNote {
        guard let headers = log.headers(of: record), headers.count < Self.mostHeaders else {
            return try writeDeadLetter(record, because: .badHeaders)
        }
        guard !headers.contains(where: { $0.name == HeaderName.forwardedFrom }) else {
            return try writeDeadLetter(record, because: .misplaced)
        }
        let origin = MessageHeader(name: HeaderName.forwardedFrom, value: "\(record.partition)/\(record.offset)")
        // A refused old timestamp would fail the transaction, and again with each command that is as old.
        let keepsTime = !cut.contains(.time) && time - sent < context.settings.oldestForward ?? .max
        let isWhole = sizeToCut(record, headers) == nil
        try leave(
            OutputRecord(
                topic: record.topic.topic, partition: owner, key: record.key, value: record.value,
                headers: (isWhole ? [] : headers.ofTraces) + [origin],
                original: isWhole && !headers.isEmpty ? record.index : nil, timestamp: keepsTime ? sent : nil))
        summary.forwarded += 1
        return .forwarded(place(of: record), to: owner)
    }

    /// The most headers of a record that is copied: librdkafka reads up to 100,000, and a copy adds some.
    private static let mostHeaders = 99_990

    /// Writes a dead letter: a record without an answer, with its bytes and headers, the reason and its position. If a topic has
    /// refused a large one, it keeps only the beginnings of key and value, and no headers.
    private mutating func writeDeadLetter(
        _ record: CommandRecord, because known: DeadLetterReason
    ) throws(LogError) -> JournalNote {
        let headers = known == .badHeaders ? nil : log.headers(of: record).flatMap { $0.count > Self.mostHeaders ? nil : $0 }
        let reason = headers == nil ? .badHeaders : known
        // With this clock's time it would expire at once if the clock is years behind.
        let timestamp = context.settings.times.believed(record.timestamp, readAt: time).flatMap { $0 > time ? $0 : nil }
        var letter = OutputRecord(
            topic: .deadLetters, partition: record.partition, key: record.key, value: record.value,
            original: headers?.isEmpty ?? true ? nil : record.index, timestamp: timestamp)
        if let size = sizeToCut(record, headers ?? []) {
            func beginning(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
                bytes.map { UnsafeRawBufferPointer(rebasing: $0.prefix(DeadLetterReason.mostKept)) }
            }
            (letter.key, letter.value, letter.original) = (beginning(record.key), beginning(record.value), nil)
            letter.headers = [MessageHeader(name: HeaderName.truncatedFrom, value: String(size))]
        }
        letter.headers += [
            MessageHeader(name: HeaderName.errorCode, value: reason.code),
            MessageHeader(name: HeaderName.errorMessage, value: reason.message),
            MessageHeader(name: HeaderName.sourceTopic, value: context.settings.topics[record.topic.topic]),
            MessageHeader(name: HeaderName.sourcePartition, value: String(record.partition)),
            MessageHeader(name: HeaderName.sourceOffset, value: String(record.offset)),
        ]
        try leave(letter)
        if let index = summary.deadLettersByReason.firstIndex(where: { $0.reason == reason }) {
            summary.deadLettersByReason[index].count += 1
        } else {
            summary.deadLettersByReason.append(DeadLetters(reason, first: record.position, count: 1))
        }
        return .deadLetter(place(of: record), code: reason.code)
    }

    /// The size of a record that must be cut; nil if it is written whole. A record no larger than a cut one may be is never cut: if
    /// a topic refuses it, the topic is to blame.
    private func sizeToCut(_ record: CommandRecord, _ headers: [MessageHeader]) -> Int? {
        guard cut.contains(.contents) else { return nil }
        let size = headers.size + (record.key?.count ?? 0) + (record.value?.count ?? 0)
        return size > 2 * DeadLetterReason.mostKept ? size : nil
    }

    /// Writes a record that leaves the partition.
    private mutating func leave(_ record: OutputRecord) throws(LogError) {
        deferred = deferred ?? DeferredRecords()
        try log.produce(record)
    }

    /// The place of a record that gets no answer, as its partition's journal names it.
    private func place(of record: CommandRecord) -> InputPlace {
        InputPlace(
            topic: record.topic, partition: record.partition < context.settings.partitionCount ? nil : record.partition,
            offset: record.offset, digest: RecordDigest(key: record.key, value: record.value))
    }

    // MARK: - Records of the journal and the stock

    /// Writes the journal record of a command, with the buffer as its value and the answered store as its key.
    ///
    /// In a steady state librdkafka sets its time, which costs nothing.
    ///
    /// - Parameter counted: the time from which an answer counts for repeats, unless that is when the command was sent.
    @inline(__always)
    private mutating func writeToJournal(
        about command: CommandRecord, key: BorrowedText? = nil, _ headers: [MessageHeader] = [], sentAt sent: Timestamp,
        countedFrom counted: Timestamp = .min, _ state: inout StateStore
    ) throws(LogError) {
        var record = OutputRecord(
            topic: .results, partition: state.partition, key: key?.bytes, value: buffer.unsafeBytes, headers: headers)
        let (written, counted) = (state.nextTime(sentAt: sent, now: time), max(counted, sent))
        if written > time { record.timestamp = written }
        let isTold = command.timestamp == nil || command.timestamp == sent
        if !isTold || written - counted > context.settings.window.delay || counted > written {
            record.headers.append(MessageHeader(name: HeaderName.sent, value: String(counted)))
        }
        try writeToJournal(record)
        state.apply(command, written: written, sent: sent)
    }

    private mutating func writeToJournal(_ record: OutputRecord) throws(LogError) {
        if deferred == nil { try log.produce(record) } else { deferred?.append(record) }
    }

    /// Writes a journal note that is not about a command.
    ///
    /// - Parameter newest: the time of the record before it. The note must not be earlier, since what it says is older than it.
    mutating func writeNote(_ note: JournalNote, to partition: Int32, notBefore newest: Timestamp) throws(LogError) {
        buffer.removeAll()
        note.write(into: &buffer)
        let time = newest > time ? newest : nil
        try writeToJournal(OutputRecord(topic: .results, partition: partition, value: buffer.unsafeBytes, timestamp: time))
    }

    /// Writes the stores whose last committed changes the stock topic lacks. The transaction must not have changed any yet.
    mutating func writeStock(of state: PartitionState) throws(LogError) {
        defer { summary.storesWritten += state.applied.stores.writing }
        try state.applied.stores.writeNext { (store, levels, revision) throws(LogError) in
            buffer.removeAll()
            context.answerEncoder.stock(store: store, revision: revision, levels: levels, into: &buffer)
            try log.produce(
                OutputRecord(topic: .stock, partition: state.partition, key: store.bytes, value: buffer.unsafeBytes))
        }
    }
}
