import JuiceMaker
import JuiceMessages

/// Carries out commands: changes the store of each and writes its answer. A repeat gets its first answer again, a
/// command of another partition's store is forwarded there, and what cannot be decoded is put aside as a dead letter.
///
/// In steady state it allocates nothing for an order: texts are views into the record, the answer is written into a
/// buffer that is kept.
struct CommandProcessor {
    let encoder: AnswerEncoder
    private let maker: JuiceMaker
    /// Two, used in turn: the next record is read before the present one is done with.
    private let readers: [CommandReader]

    private let relay = Relay()
    /// How the records are to be treated; of a batch of several, as ``Trouble/Treatment/whole``.
    var treatment = Trouble.Treatment.whole

    /// - Parameter partitionCount: how many partitions the stores are spread over.
    init(menu: Menu, language: Language, partitionCount: Int32) {
        maker = JuiceMaker(menu: menu)
        encoder = AnswerEncoder(menu: menu, language: language)
        readers = (0..<2).map { _ in CommandReader(menu: menu, partitionCount: partitionCount) }
    }

    /// Answers records of one partition and applies them to its state, or hands them on. Those that were applied before
    /// are passed over.
    ///
    /// Each record is read one ahead, and what it is going to need is fetched from memory meanwhile: among a million
    /// stores and ids, nothing is in the caches by chance.
    func process(
        _ records: ArraySlice<CommandRecord>,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output<some CommandLog>,
        summary: inout TransactionSummary
    ) throws(LogError) {
        // Not as a slice: a look at an element of that copies it and counts its references.
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
        var ahead = read(records, at: records.startIndex, state)
        for index in records.indices {
            let next = index + 1 < records.endIndex ? read(records, at: index + 1, state) : .end
            // Moved, not copied.
            let reading = exchange(&ahead, with: next)
            guard state.advance(records[index].topic, to: records[index].offset + 1) else { continue }
            let sent = CommandTime.effective(records[index].timestamp, readAt: time)
            switch consume reading {
            case .undecodable(let reason):
                try relay.deadLetter(
                    records[index],
                    because: reason,
                    treatment,
                    log: output.log,
                    summary: &summary
                )
            case .command where treatment.isDeadLetter, .misrouted where treatment.isDeadLetter:
                try relay.deadLetter(
                    records[index],
                    because: .unanswerable,
                    treatment,
                    log: output.log,
                    summary: &summary
                )
            case .command(let command, let content):
                answer(
                    command,
                    content,
                    sentAt: sent,
                    state: &state,
                    buffer: &output.buffer,
                    summary: &summary
                )
                let headers = treatment == .whole ? records[index].headers.ofTraces : []
                try output.write(.results, records[index].partition, key: command.store, headers: headers)
            case .misrouted(let owner):
                try relay.forward(
                    records[index],
                    sentAt: sent,
                    to: owner,
                    treatment,
                    log: output.log,
                    summary: &summary
                )
            case .end:
                return
            }
        }
    }

    @inline(__always)
    private func read(
        _ records: UnsafeBufferPointer<CommandRecord>,
        at index: Int,
        _ state: borrowing AppliedState
    ) -> CommandReader.Reading {
        let reading = readers[index & 1].read(
            records[index].topic,
            records[index].partition,
            key: records[index].key,
            value: records[index].value
        )
        if case .command(let command, _) = reading { state.prefetch(command) }
        return reading
    }

    private func answer(
        _ command: ReceivedCommand,
        _ content: CommandContent,
        sentAt time: Timestamp,
        state: inout AppliedState,
        buffer: inout OutputBuffer,
        summary: inout TransactionSummary
    ) {
        buffer.removeAll()
        if let firstAnswer = state.duplicates.firstAnswer(to: command.fingerprint, sentAt: time) {
            if !state.duplicates.write(firstAnswer, id: command.id, store: command.store, into: &buffer) {
                encoder.write(
                    firstAnswer,
                    id: command.id,
                    store: command.store,
                    duplicate: true,
                    into: &buffer
                )
            }
            summary.duplicates += 1
        } else {
            let answer =
                carryOut(command, content, on: &state.stores, &buffer, &summary)
                ?? state.duplicates.keep(
                    buffer.unsafeBytes,
                    to: command.kind,
                    id: command.id,
                    store: command.store
                )
            state.duplicates.remember(command.kind, command.fingerprint, answer, sentAt: time)
        }
    }
}

// MARK: - Answers

extension CommandProcessor {
    /// - Returns: the answer, which the buffer has, if the encoder can write it again from its numbers.
    private func carryOut(
        _ command: ReceivedCommand,
        _ content: CommandContent,
        on stores: inout StoreTable,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer? {
        switch content {
        case .make(let order): make(order, for: command, &stores, &buffer, &summary)
        case .apply(let restock): apply(restock, to: command, &stores, &buffer, &summary)
        case .reject(let rejection): reject(command, rejection, &buffer, &summary)
        }
    }

    private func make(
        _ order: OrderCommand,
        for command: ReceivedCommand,
        _ stores: inout StoreTable,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer? {
        var compact: CompactAnswer?
        stores.update(command.storeKey) { fruits in
            switch maker.make(order.juice, quantity: order.quantity, from: &fruits) {
            case .made:
                encoder.juiceMade(order, store: command.store, left: fruits, into: &buffer)
                compact = encoder.compactJuiceMade(order, left: fruits)
                summary.juicesMade += 1
                return true
            case .outOfStock(let shortages):
                encoder.outOfStock(order, store: command.store, shortages: shortages, into: &buffer)
                compact = encoder.compactOutOfStock(order, shortages: shortages)
                summary.outOfStock += 1
                return false
            }
        }
        return compact
    }

    private func apply(
        _ restock: RestockCommand,
        to command: ReceivedCommand,
        _ stores: inout StoreTable,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer? {
        var compact: CompactAnswer?
        stores.update(command.storeKey) { fruits in
            do throws(StockEditError) {
                try fruits.apply(restock.edit)
            } catch {
                compact = reject(command, Rejection(error), &buffer, &summary)
                return false
            }
            encoder.restocked(restock, store: command.store, left: fruits, into: &buffer)
            compact = encoder.compactRestocked(restock, left: fruits)
            summary.restocked += 1
            return true
        }
        return compact
    }

    private func reject(
        _ command: ReceivedCommand,
        _ rejection: Rejection,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer? {
        encoder.rejected(
            command.kind,
            id: command.id,
            store: command.store,
            rejection: rejection,
            into: &buffer
        )
        summary.rejected += 1
        return nil
    }
}
