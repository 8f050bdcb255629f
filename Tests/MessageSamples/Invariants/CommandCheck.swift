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
    private let maker = JuiceMaker(menu: .standard)
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
        let id = String(command.id)
        switch command.request {
        case .make(let order):
            try check(order)
            try checkSentAgain(outgoing(order, id: id), command)
            try checkAnswers(to: order, id: command.id)
        case .cancel:
            try checkSentAgain(OutgoingCommand.cancel(id: id, store: String(store)), command)
            var content = AnswerContent()
            content.kind = .cancelled
            try check(content, head(.cancel, command.id))
        }
    }

    private func check(_ order: JuiceOrder) throws(InvariantViolation) {
        let quantities =
            switch order {
            case .single: JuiceOrder.quantities
            case .basket: JuiceOrder.basketQuantities
            }
        try require((1...JuiceOrder.mostItems).contains(order.items.count), "\(order.items.count) items")
        try require(Set(order.items.map(\.juice)).count == order.items.count, "a juice twice: \(order)")
        for item in order.items {
            try require(menu.juices.indices.contains(item.juice), "juice \(item.juice)")
            try require(quantities.contains(item.quantity), "quantity \(item.quantity)")
        }
    }

    /// The order as a client sends it. It asks for at most 100 of a juice at once.
    private func outgoing(_ order: JuiceOrder, id: String) -> OutgoingCommand {
        let store = String(store)
        switch order {
        case .single(let item):
            let juice = menu.juices[item.juice].id
            return .order(id: id, store: store, juice: juice, quantity: item.quantity)
        case .basket(let items):
            let most = JuiceOrder.quantities.upperBound
            let pieces = items.flatMap { item in
                stride(from: 0, to: item.quantity, by: most).map { sent in
                    OrderedJuice(juice: menu.juices[item.juice].id, quantity: min(most, item.quantity - sent))
                }
            }
            return .basket(id: id, store: store, pieces)
        }
    }

    private func checkSentAgain(_ outgoing: OutgoingCommand, _ command: OrderCommand) throws(InvariantViolation) {
        let isSame = outgoing.value.withUnsafeBytes {
            if case .command(let again) = second.decodeOrder($0) { again == command } else { false }
        }
        try require(isSame, "not the same command: \(String(decoding: outgoing.value, as: UTF8.self))")
    }

    /// Its answer, and that to its cancel. There is enough for some orders and not for others.
    private func checkAnswers(to order: JuiceOrder, id: BorrowedText) throws(InvariantViolation) {
        var fruits = FruitStore(menu: menu)
        var content = AnswerContent()
        let outcome = content.make(order, by: maker, from: &fruits)
        if outcome == .made { content.revision = 17 }
        try check(content, head(.order, id))
        guard outcome == .made else { return }
        do throws(StockEditError) {
            try fruits.putBack(&content.fruits)
        } catch {
            throw InvariantViolation(description: "what was taken cannot be put back: \(error)")
        }
        try require(fruits == FruitStore(menu: menu), "not what was taken: \(fruits.levels)")
        content.kind = .cancelled
        content.revision = 18
        try check(content, head(.cancel, id))
    }

    private func head(_ kind: CommandKind, _ id: BorrowedText) -> AnswerHead {
        AnswerHead(kind, id: id, store: store, offset: .max)
    }

    private func check(_ restock: RestockCommand) throws(InvariantViolation) {
        try requireName(restock.id)
        let entries = restock.edit.entries
        try require(!entries.isEmpty, "no fruits")
        let isInMenuOrder = zip(entries, entries.dropFirst()).allSatisfy { $0.fruit < $1.fruit }
        try require(isInMenuOrder, "fruits out of order: \(entries)")
        try require(entries.allSatisfy { menu.fruits.indices.contains($0.fruit) }, "unknown fruits: \(entries)")

        let amounts = entries.map { FruitAmount(fruit: menu.fruits[$0.fruit].id, amount: $0.amount) }
        let sent = OutgoingCommand.restock(id: String(restock.id), store: String(store), restock.edit.kind, amounts)
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
        var content = AnswerContent()
        content.revision = 17
        content.fruits.set(restock.edit, left: fruits)
        try check(content, head(.restock, restock.id))
    }

    private func check(_ kind: CommandKind, _ id: BorrowedText, _ rejection: Rejection) throws(InvariantViolation) {
        try requireName(id)
        let head = self.head(kind, id)
        let value = bytes { encoder.write(rejection, head, into: &$0) }
        // Whatever was sent: 128 bytes of id and 1,024 of echo, each six bytes when escaped, and a sentence.
        try require(value.count < 8 * 1024, "a rejection of \(value.count) bytes")
        try check(value, head, nil)
        let outcome = try answerDecoder.decodeOwn(value).outcome
        try require(outcome == .rejected(reason: rejection.reason.rawValue), "\(outcome)")
    }

    private func check(_ content: AnswerContent, _ head: AnswerHead) throws(InvariantViolation) {
        try check(bytes { encoder.write(content, head, into: &$0) }, head, content)
    }

    private func check(_ value: [UInt8], _ head: AnswerHead, _ content: AnswerContent?) throws(InvariantViolation) {
        let answer = try answerDecoder.decodeOwn(value)
        try require(answer.command == head.command && !answer.isDuplicate, "\(answer)")
        try require(answer.id.utf8.elementsEqual(head.id.bytes), "\(answer)")
        try require(answer.store.utf8.elementsEqual(head.store.bytes), "\(answer)")
        try require(answer.offset == head.offset && answer.from == nil, "\(answer)")
        try require(answer.revision == content.flatMap { $0.revision > 0 ? $0.revision : nil }, "\(answer)")
        // The standard library's method forgets the type of what its closure throws.
        try value.withUnsafeBytes { bytes in Result { () throws(InvariantViolation) in try answers.check(bytes) } }.get()
    }

    private func check(_ reason: DeadLetterReason, of value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        switch reason {
        case .emptyValue: try require(value.isEmpty, "\(value.count) bytes are no value")
        case .tooLarge: try require(value.count > CommandKind.maximumLength, "\(value.count) bytes are too large")
        case .notJSON, .tooDeep, .missingID, .badID:
            try require((1...CommandKind.maximumLength).contains(value.count), "\(value.count) bytes: \(reason)")
        case .badStore, .misplaced, .unanswerable: try require(false, "\(reason) of a value")
        }
    }
}
