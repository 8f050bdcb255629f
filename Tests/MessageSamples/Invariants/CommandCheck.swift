import JuiceMaker
import JuiceMessages

/// Any bytes are a command, a rejection or a dead letter, and each keeps its promises.
public final class CommandCheck: InvariantCheck {
    private let menu = Menu.standard
    private let decoder = CommandDecoder(menu: .standard)
    // The results of a decoder are invalid once it decodes again.
    private let second = CommandDecoder(menu: .standard)
    private let answers = AnswerCheck()
    private let answerDecoder = AnswerDecoder()
    private let encoder = AnswerEncoder(menu: .standard)
    private let store = BorrowedText("강남 \"1\"")

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes both as an order and as a restock.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        switch decoder.decodeOrder(value) {
        case .command(let order): try check(order)
        case .rejected(let id, let rejection): try check(.order, id, rejection)
        case .undecodable(let reason): try check(reason, of: value)
        }
        switch decoder.decodeRestock(value) {
        case .command(let restock): try check(restock)
        case .rejected(let id, let rejection): try check(.restock, id, rejection)
        case .undecodable(let reason): try check(reason, of: value)
        }
    }

    private func check(_ command: OrderCommand) throws(InvariantViolation) {
        let (id, order) = (command.id, command.order)
        try requireName(id)
        try require(menu.juices.indices.contains(order.juice), "juice \(order.juice)")
        try require(JuiceMaker.quantities.contains(order.quantity), "quantity \(order.quantity)")

        let juice = menu.juices[order.juice]
        let sent = OutgoingCommand.order(
            id: String(id),
            store: String(store),
            juice: juice.id,
            quantity: order.quantity
        )
        let again = sent.value
        let isSame = again.withUnsafeBytes {
            if case .command(command) = second.decodeOrder($0) { true } else { false }
        }
        try require(isSame, "not the same order: \(String(decoding: again, as: UTF8.self))")

        // Enough for some orders and not for others.
        let (maker, head) = (JuiceMaker(menu: menu), AnswerHead(.order, id: id, store: store))
        var fruits = FruitStore(menu: menu)
        var content = AnswerContent()
        let outcome = maker.make(order, from: &fruits)
        content.set(order, outcome, by: maker, left: fruits)
        try check(bytes { encoder.write(content, head, into: &$0) }, head, CompactAnswer(content))
    }

    private func check(_ restock: RestockCommand) throws(InvariantViolation) {
        try requireName(restock.id)
        let entries = restock.edit.entries
        try require(!entries.isEmpty, "no fruits")
        let isInMenuOrder = zip(entries, entries.dropFirst()).allSatisfy { $0.fruit < $1.fruit }
        try require(isInMenuOrder, "fruits out of order: \(entries)")
        try require(
            entries.allSatisfy { menu.fruits.indices.contains($0.fruit) },
            "unknown fruits: \(entries)"
        )

        let amounts = entries.map { FruitAmount(fruit: menu.fruits[$0.fruit].id, amount: $0.amount) }
        let sent = OutgoingCommand.restock(
            id: String(restock.id),
            store: String(store),
            restock.edit.kind,
            amounts
        )
        let again = sent.value
        let isSame = again.withUnsafeBytes {
            if case .command(restock) = second.decodeRestock($0) { true } else { false }
        }
        try require(isSame, "not the same restock: \(String(decoding: again, as: UTF8.self))")

        var fruits = FruitStore(menu: menu)
        do throws(StockEditError) {
            try fruits.apply(restock.edit)
        } catch {
            return try check(.restock, restock.id, Rejection(error))
        }
        let head = AnswerHead(.restock, id: restock.id, store: store)
        var content = AnswerContent()
        content.set(restock.edit, left: fruits)
        try check(bytes { encoder.write(content, head, into: &$0) }, head, CompactAnswer(content))
    }

    private func check(
        _ kind: CommandKind,
        _ id: BorrowedText,
        _ rejection: Rejection
    ) throws(InvariantViolation) {
        try requireName(id)
        let head = AnswerHead(kind, id: id, store: store)
        let value = bytes { encoder.write(rejection, head, into: &$0) }
        // Whatever was sent: 128 bytes of id and 1,024 of echo, each six bytes when escaped, and a sentence.
        try require(value.count < 8 * 1024, "a rejection of \(value.count) bytes")
        try check(value, head, nil)
        let outcome = try answerDecoder.decodeOwn(value).outcome
        try require(outcome == .rejected(reason: rejection.reason.rawValue), "\(outcome)")
    }

    private func check(
        _ value: [UInt8],
        _ head: AnswerHead,
        _ compact: CompactAnswer?
    ) throws(InvariantViolation) {
        let answer = try answerDecoder.decodeOwn(value)
        try require(answer.command == head.command && !answer.isDuplicate, "\(answer)")
        try require(answer.id.utf8.elementsEqual(head.id.bytes), "\(answer)")
        try require(answer.store.utf8.elementsEqual(head.store.bytes), "\(answer)")
        let remembered = try answers.compact(of: value)
        try require(
            remembered == compact,
            "remembered differently: \(String(decoding: value, as: UTF8.self))"
        )
    }

    private func check(
        _ reason: DeadLetterReason,
        of value: UnsafeRawBufferPointer
    ) throws(InvariantViolation) {
        switch reason {
        case .emptyValue: try require(value.isEmpty, "\(value.count) bytes are no value")
        case .tooLarge:
            try require(value.count > CommandKind.maximumLength, "\(value.count) bytes are too large")
        case .notJSON, .tooDeep, .missingID, .badID:
            try require(
                (1...CommandKind.maximumLength).contains(value.count),
                "\(value.count) bytes: \(reason)"
            )
        case .badStore, .misplaced, .unanswerable: try require(false, "\(reason) of a value")
        }
    }
}
