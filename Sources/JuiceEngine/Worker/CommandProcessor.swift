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
    let maker: JuiceMaker
    /// Two, used in turn: the next record is read before the present one is answered.
    private let readers: [CommandReader]
    private let relay: Relay
    let decoder = AnswerDecoder()
    /// How to treat the records; ``Trouble/Treatment/whole`` for a batch of several.
    var treatment = Trouble.Treatment.whole

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
    func process(
        _ records: ArraySlice<CommandRecord>,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output<some CommandLog>,
        summary: inout TransactionSummary
    ) throws(LogError) {
        // Not as a slice: accessing an element would copy it and count its references.
        try records.withUnsafeBufferPointer { (records) throws(LogError) in
            try process(records, at: time, state: &state, output: &output, summary: &summary)
        }
    }

    private func process(
        _ records: UnsafeBufferPointer<CommandRecord>,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output<some CommandLog>,
        summary: inout TransactionSummary
    ) throws(LogError) {
        guard !records.isEmpty else { return }
        var answer = AnswerContent()
        var ahead = read(records, at: records.startIndex, state)
        for index in records.indices {
            let next = index + 1 < records.endIndex ? read(records, at: index + 1, state) : .end
            // Moved, not copied.
            let reading = exchange(&ahead, with: next)
            guard state.advance(past: records[index]) else { continue }
            let sent = CommandTime.effective(records[index].timestamp, readAt: time)
            switch consume reading {
            case .undecodable(let reason):
                let note = try deadLetter(records[index], because: reason, &output, &summary)
                if records[index].partition == state.partition {
                    state.answered.append(records[index].topic, records[index].offset, .noCommand)
                }
                try output.journal(state.partition, note)
            case .command(let command, let content):
                try respond(
                    to: command,
                    content,
                    records[index],
                    sentAt: sent,
                    &state,
                    &answer,
                    &output,
                    &summary
                )
            case .misrouted(let owner):
                let note =
                    treatment.isDeadLetter
                    ? try deadLetter(records[index], because: .unanswerable, &output, &summary)
                    : try relay.forward(
                        records[index],
                        sentAt: sent,
                        to: owner,
                        treatment,
                        output: &output,
                        summary: &summary
                    )
                if case .forwarded(_, let owner) = note, records[index].partition == state.partition {
                    state.answered.append(records[index].topic, records[index].offset, .forwarded(to: owner))
                }
                try output.journal(state.partition, note)
            case .end:
                return
            }
            state.recordsSinceNote += 1
        }
    }

    /// Answers a command, unless it is here for the second time, or the log has refused its answer.
    @inline(__always)
    private func respond(
        to command: ReceivedCommand,
        _ content: consuming CommandContent,
        _ record: CommandRecord,
        sentAt time: Timestamp,
        _ state: inout AppliedState,
        _ answer: inout AnswerContent,
        _ output: inout Output<some CommandLog>,
        _ summary: inout TransactionSummary
    ) throws(LogError) {
        guard !treatment.isDeadLetter else {
            let note = try deadLetter(record, because: .unanswerable, &output, &summary)
            return try output.journal(state.partition, note)
        }
        var command = command
        let headers = output.log.headers(of: record)
        if !headers.isEmpty {
            command.setSource(from: headers)
            if state.isCopy(command, record.topic, sentAt: time) {
                summary.copies += 1
                return try output.journal(state.partition, .copy(relay.place(of: record)))
            }
        }
        write(command, content, sentAt: time, state: &state, &answer, into: &output.buffer, summary: &summary)
        state.answered.append(record.topic, record.offset, .command(command.fingerprint.low))
        try output.journal(
            state.partition,
            key: command.head.store,
            headers: treatment == .whole ? headers.ofTraces : []
        )
    }

    private func deadLetter(
        _ record: CommandRecord,
        because reason: DeadLetterReason,
        _ output: inout Output<some CommandLog>,
        _ summary: inout TransactionSummary
    ) throws(LogError) -> JournalNote {
        try relay.deadLetter(record, because: reason, treatment, output: &output, summary: &summary)
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
}

// MARK: - Answers

extension CommandProcessor {
    /// Writes the answer to a command: its first one again, or the one that it gets from being carried out.
    private func write(
        _ command: ReceivedCommand,
        _ content: consuming CommandContent,
        sentAt time: Timestamp,
        state: inout AppliedState,
        _ answer: inout AnswerContent,
        into buffer: inout OutputBuffer,
        summary: inout TransactionSummary
    ) {
        buffer.removeAll()
        let first = state.duplicates.firstAnswer(to: command.fingerprint, sentAt: time)
        if command.head.command == .cancel {
            writeCancel(
                command,
                of: first,
                sentAt: time,
                state: &state,
                &answer,
                into: &buffer,
                summary: &summary
            )
        } else if let first {
            if command.head.command == .order, state.duplicates.isCancelled(first) {
                // Not remembered: the cancel stays what is known of the id.
                encoder.write(Rejection.cancelled, command.head, into: &buffer)
                summary.rejected += 1
            } else {
                repeatAnswer(first, to: command, state.duplicates, &answer, into: &buffer, &summary)
            }
        } else {
            let compact = writeFirst(command, content, state: &state, &answer, into: &buffer, &summary)
            state.duplicates.remember(command.head.command, command.fingerprint, compact, sentAt: time)
        }
    }

    func repeatAnswer(
        _ first: CompactAnswer,
        to command: ReceivedCommand,
        _ duplicates: borrowing DuplicateMemory,
        _ answer: inout AnswerContent,
        into buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) {
        let head = command.head.duplicate
        if !duplicates.write(first, head, into: &buffer),
            duplicates.unpack(first, into: &answer, by: maker)
        {
            encoder.write(answer, head, into: &buffer)
        }
        summary.duplicates += 1
    }

    /// - Returns: the answer, as it is to be remembered.
    func writeFirst(
        _ command: ReceivedCommand,
        _ content: consuming CommandContent,
        state: inout AppliedState,
        _ answer: inout AnswerContent,
        into buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer {
        do throws(Rejection) {
            try carryOut(content, on: command.storeKey, &state.stores, &answer, &summary)
        } catch {
            encoder.write(error, command.head, into: &buffer)
            summary.rejected += 1
            return state.duplicates.pack(buffer.unsafeBytes, command.head)
        }
        encoder.write(answer, command.head, into: &buffer)
        return state.duplicates.pack(answer, orElse: buffer.unsafeBytes, command.head)
    }

    /// Changes the store, and sets the answer.
    private func carryOut(
        _ content: consuming CommandContent,
        on store: ByteKeyTable.Key,
        _ stores: inout StoreTable,
        _ answer: inout AnswerContent,
        _ summary: inout TransactionSummary
    ) throws(Rejection) {
        switch consume content {
        case .make(let order): make(order, from: store, &stores, &answer, &summary)
        case .apply(let edit): try apply(edit, to: store, &stores, &answer, &summary)
        case .cancel: try cancel(on: store, &stores, &answer, &summary)
        case .reject(let rejection): throw rejection
        }
    }

    private func make(
        _ order: JuiceOrder,
        from store: ByteKeyTable.Key,
        _ stores: inout StoreTable,
        _ answer: inout AnswerContent,
        _ summary: inout TransactionSummary
    ) {
        answer.revision = stores.update(store) { fruits in
            switch answer.make(order, by: maker, from: &fruits) {
            case .made:
                summary.juicesMade += 1
                return true
            case .outOfStock:
                summary.outOfStock += 1
                return false
            }
        }
    }

    private func apply(
        _ edit: StockEdit,
        to store: ByteKeyTable.Key,
        _ stores: inout StoreTable,
        _ answer: inout AnswerContent,
        _ summary: inout TransactionSummary
    ) throws(Rejection) {
        answer.kind = .restocked
        answer.revision = try stores.change(store) { (fruits) throws(StockEditError) in
            try fruits.apply(edit)
            answer.fruits.set(edit, left: fruits)
        }
        summary.restocked += 1
    }
}
