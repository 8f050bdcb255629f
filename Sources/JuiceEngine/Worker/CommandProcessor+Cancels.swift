import JuiceMaker
import JuiceMessages

// Orders that are taken back.
extension CommandProcessor {
    /// Writes the answer to a cancel.
    ///
    /// - Parameter first: what is remembered of the order's id: the answer to the order, or to an earlier cancel.
    func writeCancel(
        _ command: ReceivedCommand,
        of first: CompactAnswer?,
        sentAt time: Timestamp,
        state: inout AppliedState,
        _ answer: inout AnswerContent,
        into buffer: inout OutputBuffer,
        summary: inout TransactionSummary
    ) {
        let own = CommandFingerprint(.cancel, store: command.head.store, id: command.head.id)
        if let first, state.duplicates.isCancelled(first) {
            return repeatAnswer(first, to: command, state.duplicates, &answer, into: &buffer, &summary)
        }
        if let rejected = state.duplicates.firstAnswer(to: own, sentAt: time) {
            return repeatAnswer(rejected, to: command, state.duplicates, &answer, into: &buffer, &summary)
        }
        setFruits(of: first, to: command.head, state.duplicates, &answer, &buffer)
        let cancelled = summary.cancelled
        let compact = writeFirst(command, .cancel, state: &state, &answer, into: &buffer, &summary)
        let isCancelled = summary.cancelled > cancelled
        state.duplicates.remember(
            .cancel,
            isCancelled ? command.fingerprint : own,
            compact,
            sentAt: time
        )
    }

    /// Sets the answer's fruits to those that an order took: none if it is not known, or was not made.
    private func setFruits(
        of order: CompactAnswer?,
        to head: AnswerHead,
        _ duplicates: borrowing DuplicateMemory,
        _ answer: inout AnswerContent,
        _ buffer: inout OutputBuffer
    ) {
        guard let order else { return answer.fruits.removeAll() }
        if duplicates.unpack(order, into: &answer, by: maker) {
            if answer.kind != .juiceMade { answer.fruits.removeAll() }
            return
        }
        // An answer in another language, or by another menu. Fruits that are not on the present one cannot be put back.
        answer.fruits.removeAll()
        _ = duplicates.write(order, head, into: &buffer)
        if let read = try? decoder.decode(buffer.unsafeBytes), case .juiceMade(_, let used, _) = read.outcome
        {
            for used in used {
                guard let fruit = maker.menu.fruitIndex(id: used.fruit) else { continue }
                answer.fruits.add(FruitTally.Line(fruit: fruit, amount: used.amount, level: 0))
            }
        }
        buffer.removeAll()
    }

    /// Puts the answer's fruits back.
    func cancel(
        on store: ByteKeyTable.Key,
        _ stores: inout StoreTable,
        _ answer: inout AnswerContent,
        _ summary: inout TransactionSummary
    ) throws(Rejection) {
        answer.kind = .cancelled
        answer.revision = 0
        if answer.fruits.count > 0 {
            answer.revision = try stores.change(store) { (fruits) throws(StockEditError) in
                try fruits.putBack(&answer.fruits)
            }
        }
        summary.cancelled += 1
    }
}
