import JuiceMaker
import JuiceMessages

/// Carries out commands: decodes each, changes its store, writes its answer. A repeat gets its first answer again, a
/// command of another partition's store is forwarded there, and what cannot be decoded is put aside as a dead letter.
///
/// In steady state it allocates nothing for an order: texts are views into the record, the answer is written into a
/// buffer that is kept.
struct CommandProcessor {
    let encoder: AnswerEncoder
    private let maker: JuiceMaker
    private let decoder: CommandDecoder
    private let partitionCount: Int32

    /// For what is not answered here.
    var relay = Relay()

    /// - Parameter partitionCount: how many partitions the stores are spread over.
    init(menu: Menu, language: Language, partitionCount: Int32) {
        maker = JuiceMaker(menu: menu)
        decoder = CommandDecoder(menu: menu)
        encoder = AnswerEncoder(menu: menu, language: language)
        self.partitionCount = partitionCount
    }

    /// Answers records of one partition and applies them to its state, or hands them on. Those that were applied before
    /// are passed over.
    func process(
        _ records: ArraySlice<CommandRecord>,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output<some CommandLog>,
        summary: inout TransactionSummary
    ) throws(LogError) {
        for record in records where state.advance(record.topic, to: record.offset + 1) {
            try process(record, at: time, state: &state, output: &output, summary: &summary)
        }
    }

    private func process(
        _ record: CommandRecord,
        at time: Timestamp,
        state: inout AppliedState,
        output: inout Output<some CommandLog>,
        summary: inout TransactionSummary
    ) throws(LogError) {
        guard let store = StoreID.read(key: record.key) else {
            return try relay.putAside(record, because: .badStore, log: output.log, summary: &summary)
        }
        let command: ReceivedCommand
        switch decode(record, for: store) {
        case .success(let decoded): command = decoded
        case .failure(let reason):
            return try relay.putAside(record, because: reason, log: output.log, summary: &summary)
        }
        let owner = Murmur2.partition(of: store.bytes, count: partitionCount)
        guard owner == record.partition else {
            return try relay.forward(record, to: owner, log: output.log, summary: &summary)
        }

        output.buffer.removeAll()
        let fingerprint = CommandFingerprint(command.kind, store: store, id: command.id)
        if let firstAnswer = state.duplicates.firstAnswer(to: fingerprint) {
            repeatAnswer(firstAnswer, to: command, &output.buffer, &summary)
        } else {
            let answer = carryOut(command, on: &state.stores, &output.buffer, &summary)
            state.duplicates.remember(fingerprint, answer, at: time)
        }
        try output.write(.results, record.partition, key: store, headers: record.traceHeaders)
    }
}

// MARK: - Commands

/// A command with what every one has.
private struct ReceivedCommand {
    enum Content {
        case make(OrderCommand)
        case apply(RestockCommand)
        case reject(Rejection)
    }

    let kind: CommandKind
    let store: BorrowedText
    let id: BorrowedText
    let content: Content
}

extension CommandProcessor {
    private func decode(
        _ record: CommandRecord,
        for store: BorrowedText
    ) -> Result<ReceivedCommand, DeadLetterReason> {
        switch record.topic {
        case .orders:
            received(decoder.decodeOrder(record.value), .order, store) { ($0.id, .make($0)) }
        case .restocks:
            received(decoder.decodeRestock(record.value), .restock, store) { ($0.id, .apply($0)) }
        }
    }

    private func received<Command>(
        _ decoded: Decoded<Command>,
        _ kind: CommandKind,
        _ store: BorrowedText,
        _ content: (Command) -> (id: BorrowedText, ReceivedCommand.Content)
    ) -> Result<ReceivedCommand, DeadLetterReason> {
        switch decoded {
        case .command(let command):
            let (id, content) = content(command)
            return .success(ReceivedCommand(kind: kind, store: store, id: id, content: content))
        case .rejected(let id, let rejection):
            return .success(ReceivedCommand(kind: kind, store: store, id: id, content: .reject(rejection)))
        case .undecodable(let reason):
            return .failure(reason)
        }
    }

    /// - Returns: the answer, which the buffer has, to be remembered.
    private func carryOut(
        _ command: ReceivedCommand,
        on stores: inout StoreTable,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> FirstAnswer {
        let compact: CompactAnswer? =
            switch command.content {
            case .make(let order): make(order, for: command.store, &stores, &buffer, &summary)
            case .apply(let restock): apply(restock, to: command, &stores, &buffer, &summary)
            case .reject(let rejection): reject(command, rejection, &buffer, &summary)
            }
        return compact.map(FirstAnswer.compact) ?? .verbatim(buffer.bytes)
    }

    private func make(
        _ order: OrderCommand,
        for store: BorrowedText,
        _ stores: inout StoreTable,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) -> CompactAnswer? {
        var compact: CompactAnswer?
        stores.update(store) { fruits in
            switch maker.make(order.juice, quantity: order.quantity, from: &fruits) {
            case .made:
                encoder.juiceMade(order, store: store, left: fruits, into: &buffer)
                compact = encoder.compactJuiceMade(order, left: fruits)
                summary.juicesMade += 1
                return true
            case .outOfStock(let shortages):
                encoder.outOfStock(order, store: store, shortages: shortages, into: &buffer)
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
        stores.update(command.store) { fruits in
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

    private func repeatAnswer(
        _ answer: FirstAnswer,
        to command: ReceivedCommand,
        _ buffer: inout OutputBuffer,
        _ summary: inout TransactionSummary
    ) {
        switch answer {
        case .compact(let answer):
            encoder.write(answer, id: command.id, store: command.store, duplicate: true, into: &buffer)
        case .verbatim(let bytes):
            bytes.withUnsafeBytes { AnswerEncoder.duplicate(of: $0, into: &buffer) }
        }
        summary.duplicates += 1
    }
}
