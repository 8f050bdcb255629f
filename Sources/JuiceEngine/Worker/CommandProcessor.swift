import JuiceMaker
import JuiceMessages

/// Carries out commands: changes the store of each and writes its answer.
///
/// A repeat gets its first answer again, a command for a store of another partition is forwarded there, and a record that
/// cannot be decoded becomes a dead letter.
///
/// In steady state an order allocates nothing: its texts are views into the record, and its answer is written from one
/// content into one buffer, both of which are used again.
final class CommandProcessor {
    let encoder: AnswerEncoder
    private let maker: JuiceMaker
    /// Two, used in turn: the next record is read before the present one is answered.
    private let readers: [CommandReader]
    private let relay: Relay
    private let decoder = AnswerDecoder()

    /// - Parameter partitionCount: how many partitions the stores are spread over.
    init(menu: Menu, language: Language, partitionCount: Int32) {
        maker = JuiceMaker(menu: menu)
        encoder = AnswerEncoder(menu: menu, language: language)
        relay = Relay(partitionCount: partitionCount)
        readers = (0..<2).map { _ in CommandReader(menu: menu, partitionCount: partitionCount) }
    }

    /// Answers records of one partition and applies them to its state, or hands them on. Records that were applied before
    /// are skipped.
    ///
    /// Each record is read one ahead, and its store and its place among the duplicates are prefetched meanwhile: among a
    /// million stores and ids they are rarely in the caches.
    ///
    /// - Returns: how many of the records are done with. The next one is a repeat whose answer is not at hand.
    func process(
        _ records: ArraySlice<CommandRecord>,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output
    ) throws(LogError) -> Int {
        // Not as a slice: accessing an element would copy it and count its references.
        try records.withUnsafeBufferPointer { (records) throws(LogError) in
            try process(records, at: time, state: &state, output: &output)
        }
    }

    private func process(
        _ records: UnsafeBufferPointer<CommandRecord>, at time: Timestamp, state: inout AppliedState, output: inout Output
    ) throws(LogError) -> Int {
        guard !records.isEmpty else { return 0 }
        var ahead = read(records, at: records.startIndex, state)
        for index in records.indices {
            let next = index + 1 < records.endIndex ? read(records, at: index + 1, state) : .end
            // Moved, not copied.
            let reading = exchange(&ahead, with: next)
            let record = records[index]
            guard state.isNew(record) else { continue }
            let sent = CommandTime.effective(record.timestamp, readAt: time)
            let note: JournalNote?
            switch consume reading {
            case .command(let command, let content):
                let known = state.answers(to: command, sentAt: sent)
                guard state.isAtHand(known.first), state.isAtHand(known.rejectedCancel) else { return index }
                note = try respond(to: command, content, known, record, sentAt: sent, &state, &output)
            case .undecodable(let reason): note = try relay.deadLetter(record, because: reason, &output)
            case .misrouted(let owner): note = try relay.forward(record, sentAt: sent, to: owner, &output)
            case .end: return records.count
            }
            if let note {
                if let content = note.answered, record.partition == state.partition {
                    state.answered.append(record.topic, record.offset, content)
                }
                try output.journal(state.partition, note)
            }
            state.applied(record)
        }
        return records.count
    }

    @inline(__always)
    private func read(
        _ records: UnsafeBufferPointer<CommandRecord>,
        at index: Int,
        _ state: borrowing AppliedState
    ) -> CommandReader.Reading {
        let reading = readers[index & 1].read(records[index])
        switch reading {
        case .command(let command, _): state.prefetch(command)
        default: break
        }
        return reading
    }

    /// The offsets of answers that must be read back before these records can be answered.
    func missing(for records: ArraySlice<CommandRecord>, at time: Timestamp, _ state: AppliedState, most: Int) -> Set<Offset> {
        var missing: Set<Offset> = []
        for record in records where state.isNew(record) {
            guard missing.count < most else { break }
            guard case .command(let command, _) = readers[0].read(record) else { continue }
            let sent = CommandTime.effective(record.timestamp, readAt: time)
            let known = state.answers(to: command, sentAt: sent)
            for case let answer? in [known.first, known.rejectedCancel] where !state.isAtHand(answer) {
                missing.insert(answer.offset)
            }
        }
        return missing
    }

    /// Answers a command.
    ///
    /// - Returns: the note of it for the journal if it gets no answer, since it is here for the second time, or the log has refused
    ///   its answer.
    @inline(__always)
    private func respond(
        to command: ReceivedCommand,
        _ content: consuming CommandContent,
        _ known: RememberedAnswers,
        _ record: CommandRecord,
        sentAt time: Timestamp,
        _ state: inout AppliedState,
        _ output: inout Output
    ) throws(LogError) -> JournalNote? {
        if output.treatment.isDeadLetter { return try relay.deadLetter(record, because: .unanswerable, &output) }
        var command = command
        let headers = output.log.headers(of: record)
        if !headers.isEmpty {
            command.setSource(from: headers)
            if state.isCopy(command, record.topic, sentAt: time) {
                output.summary.copies += 1
                return .copy(relay.place(of: record))
            }
        }
        write(command, content, known, sentAt: time, &state, &output)
        state.answered.append(record.topic, record.offset, .command(command.fingerprint.low))
        try output.journal(state.partition, key: command.head.store, headers: output.treatment == .whole ? headers.ofTraces : [])
        return nil
    }
}

// MARK: - Answers

extension CommandProcessor {
    /// Writes the answer to a command: its first one again, or the one that it gets from being carried out.
    private func write(
        _ command: ReceivedCommand, _ content: consuming CommandContent, _ known: RememberedAnswers, sentAt time: Timestamp,
        _ state: inout AppliedState, _ output: inout Output
    ) {
        output.buffer.removeAll()
        if command.head.command == .cancel {
            writeCancel(command, known, sentAt: time, &state, &output)
        } else if let first = known.first, first.isCancelled {
            // Not remembered: the cancel stays what is known of the id.
            encoder.write(Rejection.cancelled, command.head, into: &output.buffer)
            output.summary.rejected += 1
        } else if let first = known.first {
            repeatAnswer(first, to: command, state.duplicates, &output)
        } else {
            writeFirst(command, content, &state.stores, &output)
            state.remember(command.fingerprint, command, output.buffer, sentAt: time)
        }
    }

    private func repeatAnswer(
        _ first: DuplicateMemory.FirstAnswer, to command: ReceivedCommand, _ duplicates: borrowing DuplicateMemory,
        _ output: inout Output
    ) {
        duplicates.withValue(of: first) { output.buffer.append(repeating: $0, for: command.head) }
        output.summary.duplicates += 1
    }

    private func writeFirst(
        _ command: ReceivedCommand, _ content: consuming CommandContent, _ stores: inout StoreTable, _ output: inout Output
    ) {
        do throws(Rejection) {
            try carryOut(content, on: command.storeKey, &stores, &output)
            encoder.write(output.answer, command.head, into: &output.buffer)
        } catch {
            encoder.write(error, command.head, into: &output.buffer)
            output.summary.rejected += 1
        }
    }

    /// Changes the store, and sets the answer.
    private func carryOut(
        _ content: consuming CommandContent, on store: ByteKeyTable.Key, _ stores: inout StoreTable, _ output: inout Output
    ) throws(Rejection) {
        switch consume content {
        case .make(let order): make(order, from: store, &stores, &output)
        case .apply(let edit): try apply(edit, to: store, &stores, &output)
        case .cancel: try cancel(on: store, &stores, &output)
        case .reject(let rejection): throw rejection
        }
    }

    private func make(_ order: JuiceOrder, from store: ByteKeyTable.Key, _ stores: inout StoreTable, _ output: inout Output) {
        output.answer.revision = stores.update(store) { fruits in
            switch output.answer.make(order, by: maker, from: &fruits) {
            case .made:
                output.summary.juicesMade += 1
                return true
            case .outOfStock:
                output.summary.outOfStock += 1
                return false
            }
        }
    }

    private func apply(
        _ edit: StockEdit,
        to store: ByteKeyTable.Key,
        _ stores: inout StoreTable,
        _ output: inout Output
    ) throws(Rejection) {
        output.answer.kind = .restocked
        output.answer.revision = try stores.change(store) { (fruits) throws(StockEditError) in
            try fruits.apply(edit)
            output.answer.fruits.set(edit, left: fruits)
        }
        output.summary.restocked += 1
    }
}

// MARK: - Cancels

extension CommandProcessor {
    private func writeCancel(
        _ command: ReceivedCommand, _ known: RememberedAnswers, sentAt time: Timestamp, _ state: inout AppliedState,
        _ output: inout Output
    ) {
        if let first = known.first, first.isCancelled { return repeatAnswer(first, to: command, state.duplicates, &output) }
        if let rejected = known.rejectedCancel { return repeatAnswer(rejected, to: command, state.duplicates, &output) }
        setFruits(of: known.first, state.duplicates, &output.answer)
        let cancelled = output.summary.cancelled
        writeFirst(command, .cancel, &state.stores, &output)
        let isCancelled = output.summary.cancelled > cancelled
        let fingerprint = isCancelled ? nil : command.rejectedCancel
        state.remember(fingerprint ?? command.fingerprint, command, output.buffer, isCancelled: isCancelled, sentAt: time)
    }

    /// Sets the answer's fruits to those that an order took: none if it is not known, or was not made. Fruits that are not on the
    /// present menu cannot be put back.
    private func setFruits(
        of order: DuplicateMemory.FirstAnswer?, _ duplicates: borrowing DuplicateMemory, _ answer: inout AnswerContent
    ) {
        answer.fruits.removeAll()
        guard let order, let read = duplicates.withValue(of: order, { try? decoder.decode($0) }),
            case .juiceMade(_, let used, _) = read?.outcome
        else { return }
        for used in used {
            guard let fruit = maker.menu.fruitIndex(id: used.fruit) else { continue }
            answer.fruits.add(FruitTally.Line(fruit: fruit, amount: used.amount, level: 0))
        }
    }

    /// Puts the answer's fruits back.
    private func cancel(on store: ByteKeyTable.Key, _ stores: inout StoreTable, _ output: inout Output) throws(Rejection) {
        output.answer.kind = .cancelled
        output.answer.revision = 0
        if output.answer.fruits.count > 0 {
            output.answer.revision = try stores.change(store) { (fruits) throws(StockEditError) in
                try fruits.putBack(&output.answer.fruits)
            }
        }
        output.summary.cancelled += 1
    }
}

extension JournalNote {
    /// What it tells of the record, as evidence that the log is still the same; nil if the record may be a command all the same, or
    /// the note is of none.
    var answered: AnsweredCommands.Content? {
        switch self {
        case .forwarded(_, let owner): .forwarded(to: owner)
        case .deadLetter(_, let code):
            [DeadLetterReason.misplaced.code, DeadLetterReason.unanswerable.code].contains(code) ? nil : .noCommand
        case .copy, .position, .claim, .anchored: nil
        }
    }
}
