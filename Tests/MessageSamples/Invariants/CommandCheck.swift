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
        try requireName(command.id)
        let again = try outgoing(command).value
        let isSame = again.withUnsafeBytes {
            if case .command(command) = second.decodeOrder($0) { true } else { false }
        }
        try require(isSame, "not the same order: \(String(decoding: again, as: UTF8.self))")

        guard case .make(let order) = command.request else { return }
        // Enough for some orders and not for others.
        let head = AnswerHead(.order, id: command.id, store: store)
        var fruits = FruitStore(menu: menu)
        var content = AnswerContent()
        content.make(order, by: JuiceMaker(menu: menu), from: &fruits)
        try check(bytes { encoder.write(content, head, into: &$0) }, head, content)
    }

    /// The command as a client sends it. Quantities that were added up are taken apart.
    private func outgoing(_ command: OrderCommand) throws(InvariantViolation) -> OutgoingCommand {
        let (id, store) = (String(command.id), String(store))
        switch command.request {
        case .cancel:
            return .cancel(id: id, store: store)
        case .make(.single(let item)):
            let juice = try juice(of: item, JuiceOrder.quantities)
            return .order(id: id, store: store, juice: juice, quantity: item.quantity)
        case .make(.basket(let items)):
            try require((1...JuiceOrder.mostItems).contains(items.count), "\(items.count) items")
            try require(Set(items.map(\.juice)).count == items.count, "a juice twice: \(items)")
            var parts: [OrderedJuice] = []
            for item in items {
                let juice = try juice(of: item, JuiceOrder.basketQuantities)
                for start in stride(from: 0, to: item.quantity, by: 100) {
                    parts.append(OrderedJuice(juice: juice, quantity: min(100, item.quantity - start)))
                }
            }
            return .basket(id: id, store: store, parts)
        }
    }

    private func juice(
        of item: OrderItem,
        _ quantities: ClosedRange<Int>
    ) throws(InvariantViolation) -> String {
        try require(menu.juices.indices.contains(item.juice), "juice \(item.juice)")
        try require(quantities.contains(item.quantity), "quantity \(item.quantity)")
        return menu.juices[item.juice].id
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
        content.fruits.set(restock.edit, left: fruits)
        try check(bytes { encoder.write(content, head, into: &$0) }, head, content)
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
        _ content: AnswerContent?
    ) throws(InvariantViolation) {
        let answer = try answerDecoder.decodeOwn(value)
        try require(answer.command == head.command && !answer.isDuplicate, "\(answer)")
        try require(answer.id.utf8.elementsEqual(head.id.bytes), "\(answer)")
        try require(answer.store.utf8.elementsEqual(head.store.bytes), "\(answer)")
        let remembered = try answers.remembered(value)
        try require(
            remembered.hasContent == (content != nil)
                && remembered.compact == content.flatMap { CompactAnswer($0) },
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
