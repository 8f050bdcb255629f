import JuiceDomain
import JuiceMessages

/// An invariant of any record, whatever its bytes. The fuzzer and the tests check it.
///
/// A check is for one thread, and reuses its decoders for all inputs as the service does.
public protocol InvariantCheck {
    /// Checks the value of a record.
    func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation)
}

/// A violated invariant.
public struct InvariantViolation: Error, CustomStringConvertible {
    /// What was violated, in words.
    public let description: String
}

/// Throws unless the condition holds.
func require(_ condition: Bool, _ violation: @autoclosure () -> String) throws(InvariantViolation) {
    guard condition else { throw InvariantViolation(description: violation()) }
}

/// Ids and stores are of 1 to 128 bytes of UTF-8.
func requireName(_ name: BorrowedText) throws(InvariantViolation) {
    try require((1...128).contains(name.bytes.count), "a name of \(name.bytes.count) bytes")
    try require(String(name).utf8.elementsEqual(name.bytes), "a name that is not UTF-8: \(String(name))")
}

/// What an encoder appends to an empty buffer, as text.
public func written(_ append: (inout OutputBuffer) -> Void) -> String {
    // Smaller than any answer, so that it has to grow.
    var buffer = OutputBuffer(capacity: 1)
    append(&buffer)
    return buffer.text
}

private func bytes(_ append: (inout OutputBuffer) -> Void) -> [UInt8] { Array(written(append).utf8) }

extension Answer {
    /// The answer in a record, as the service writes it.
    public init(json: String) throws { self = try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) } }
}

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
        let outcome = try own(value).outcome
        try require(outcome == .rejected(reason: rejection.reason.rawValue), "\(outcome)")
    }

    /// The answer in bytes that this project wrote.
    private func own(_ bytes: [UInt8]) throws(InvariantViolation) -> Answer {
        do {
            return try bytes.withUnsafeBytes { try answerDecoder.decode($0) }
        } catch {
            throw InvariantViolation(description: "\(error): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    private func check(_ content: AnswerContent, _ head: AnswerHead) throws(InvariantViolation) {
        try check(bytes { encoder.write(content, head, into: &$0) }, head, content)
    }

    private func check(_ value: [UInt8], _ head: AnswerHead, _ content: AnswerContent?) throws(InvariantViolation) {
        let answer = try own(value)
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

/// Any bytes are an answer, a note of the journal, or are refused. An answer can be given again.
public final class AnswerCheck: InvariantCheck {
    private let decoder = AnswerDecoder()
    private let reader = JournalReader(menu: .standard)
    private let second = JournalReader(menu: .standard)

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes as a record of the journal.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        let decoded: Answer?
        do throws(MalformedMessage) { decoded = try decoder.decode(value) } catch { decoded = nil }

        let entry: JournalEntry
        do throws(MalformedMessage) { entry = try reader.read(value) } catch { return }
        guard case .answer(let answer) = entry else {
            try require(decoded == nil && JournalNote.isNote(value), "a client takes a note for its answer")
            return try check(entry, value)
        }
        let head = answer.head
        try requireName(head.id)
        try requireName(head.store)
        try require(!JournalNote.isNote(value) && JournalNote(value) == nil, "an answer taken for a note")
        if let decoded {
            try require(decoded.command == head.command, "another command: \(decoded)")
            try require(decoded.id.utf8.elementsEqual(head.id.bytes), "another id: \(decoded)")
            try require(decoded.store.utf8.elementsEqual(head.store.bytes), "another store: \(decoded)")
            try require(decoded.offset == head.offset && head.offset >= 0, "another offset: \(decoded)")
            try require(decoded.from == head.from?.text, "another source: \(decoded)")
            try require(decoded.isDuplicate == head.isDuplicate, "another duplicate: \(decoded)")
            try require(decoded.revision ?? 0 == answer.revision, "another revision: \(decoded)")
            try checkLevels(of: decoded)
        }
        if !head.isDuplicate { try checkRepeat(of: answer, value) }
    }

    // A note is written and read again.
    private func check(_ entry: JournalEntry, _ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        guard case .note(let note) = entry else { return try require(JournalNote(value) == nil, "an unknown type that is known") }
        try require(JournalNote(value) == note, "read in two ways it is not the same")
        let again = bytes { note.write(into: &$0) }
        let isSame = again.withUnsafeBytes { JournalNote($0) == note }
        try require(isSame, "not the same note again: \(String(decoding: again, as: UTF8.self))")
    }

    // What restores the stock is what clients see.
    private func checkLevels(of answer: Answer) throws(InvariantViolation) {
        var levels: [FruitAmount] = []
        reader.forEachLevel { fruit, level in levels.append(FruitAmount(fruit: Menu.standard.fruits[fruit].id, amount: level)) }
        let left: [FruitAmount] =
            switch answer.outcome {
            case .juiceMade(_, _, let left), .restocked(let left), .cancelled(_, let left): left
            case .outOfStock, .rejected: levels
            }
        let known = left.filter { line in Menu.standard.fruits.contains { $0.id == line.fruit } }
        try require(levels == (answer.revision == nil ? [] : known), "other levels: \(levels)")
    }

    // It must be the same answer, marked as a duplicate, with the repeat's own place.
    private func checkRepeat(of answer: JournalAnswer, _ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        let again = bytes { $0.append(repeating: value, for: answer.head) }
        let end = value.firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
        let marked = value[..<end] + Array(#","duplicate":true"#.utf8) + value[end...]
        try require(again.elementsEqual(marked), "written differently: \(String(decoding: again, as: UTF8.self))")
        let (head, from) = (answer.head, ForwardSource(partition: .max, offset: 9))
        let other = AnswerHead(head.command, id: head.id, store: head.store, offset: 7, from: from)
        let atOther = bytes { $0.append(repeating: value, for: other) }
        let isSame = atOther.withUnsafeBytes { bytes in
            guard case .answer(let read)? = try? second.read(bytes) else { return false }
            return read.head.isDuplicate && read.head.command == head.command && read.head.id == head.id
                && read.head.store == head.store && read.head.offset == 7 && read.head.from == from
                && read.revision == answer.revision
        }
        try require(isSame, "not the same answer again: \(String(decoding: atOther, as: UTF8.self))")
    }
}

/// Any bytes are the stock of a store or are refused, and a stock can be written again.
public final class StockCheck: InvariantCheck {
    private let restorer = StockRestorer(menu: .standard)
    private let second = StockRestorer(menu: .standard)
    private let decoder = StockDecoder()
    private let encoder = AnswerEncoder(menu: .standard)

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes as a stock record.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        _ = try? decoder.decode(value)
        let stock: RestoredStore
        do throws(MalformedMessage) { stock = try restorer.restore(value) } catch { return }
        try require(stock.revision >= 0, "revision \(stock.revision)")
        try require(stock.levels.fruitCount == Menu.standard.fruits.count, "\(stock.levels)")
        let isInRange = stock.levels.levels.allSatisfy { (0...FruitStore.maximumLevel).contains($0) }
        try require(isInRange, "\(stock.levels)")

        let again = bytes { encoder.stock(store: stock.store, revision: stock.revision, levels: stock.levels, into: &$0) }
        let isSame = again.withUnsafeBytes { bytes in
            // Read by the template or as JSON, the stock is the same.
            [nil, stock.store.bytes].allSatisfy { key in
                guard let restored = try? second.restore(bytes, key: key) else { return false }
                return restored.store == stock.store && restored.revision == stock.revision && restored.levels == stock.levels
            }
        }
        try require(isSame, "not the same stock again: \(String(decoding: again, as: UTF8.self))")
    }
}
