import JuiceDomain
import JuiceMessages

/// An invariant of any record, whatever its bytes. The fuzzer and the tests check it.
///
/// A check is for one thread, and reuses its decoders for all inputs as the service does.
public protocol InvariantCheck {
    /// Golden messages, which lead to every part of the decoders.
    var samples: [String] { get }

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

/// Ids and stores have 1 to 128 bytes of UTF-8.
func requireName(_ name: BorrowedText) throws(InvariantViolation) {
    try require((1...128).contains(name.bytes.count), "a name of \(name.bytes.count) bytes")
    try require(String(name).utf8.elementsEqual(name.bytes), "a name that is not UTF-8: \(String(name))")
}

/// What an encoder appends to an empty buffer, as text.
package func written(_ append: (inout OutputBuffer) -> Void) -> String {
    // Smaller than any answer, so that it has to grow.
    var buffer = OutputBuffer(capacity: 1)
    append(&buffer)
    return buffer.text
}

extension Answer {
    /// The answer in a record, as the service writes it.
    package init(json: String) throws { self = try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) } }
}

extension String {
    /// Calls a check with the text as a record's value.
    package func checked(by check: some InvariantCheck) throws(InvariantViolation) {
        // The standard library's method loses the type of its closure's error.
        try Array(utf8).withUnsafeBytes { bytes in Result { () throws(InvariantViolation) in try check.check(bytes) } }.get()
    }
}

/// Any bytes are a command, a rejection or a dead letter. Every reader understands the answer to them.
public final class CommandCheck: InvariantCheck {
    /// Commands of all kinds, and what is none.
    public let samples = GoldenCommands.all
    private let shop = Shop(store: "강남 \"1\"")
    private let answers = AnswerCheck()

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes both as an order and as a restock, and the answer to the cancel of an order that was made. There is enough
    /// stock for some orders and not for others.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        for kind in [CommandKind.order, .restock] {
            if case .command(_, let id, _) = shop.decoder.decode(value, of: kind.inputTopic) { try requireName(id) }
            shop.restart()
            guard let answered = shop.answer(kind, value, at: (.max, nil)) else { continue }
            try answers.check(answered, of: shop)
            guard answered.command == .order, answered.revision != nil else { continue }
            let cancel = OutgoingCommand.cancel(id: answered.id, store: "").value
            guard let cancelled = shop.answer(.cancel, String(decoding: cancel, as: UTF8.self)) else {
                throw InvariantViolation(description: "a cancel is no command")
            }
            try answers.check(cancelled, of: shop)
            let isUndone = cancelled.revision == 2 && shop.fruits == FruitStore(menu: shop.menu)
            try require(isUndone, "not what was taken: \(shop.fruits.levels)")
        }
    }
}

extension AnswerCheck {
    /// Checks that clients can read a shop's answers in all their forms.
    package func check(_ answered: Shop.Answered, of shop: Shop) throws(InvariantViolation) {
        for (value, isRepeat) in zip(answered.values + [answered.lost], [false, false, true, true]) {
            // Whatever was sent: 128 bytes of id and 1,024 of echo, each six bytes when escaped, and a sentence.
            if answered.rejection != nil { try require(value.utf8.count < 8 * 1024, "a rejection of \(value.utf8.count) bytes") }
            try value.checked(by: self)
            guard let answer = try? Answer(json: value) else { throw InvariantViolation(description: "no answer: \(value)") }
            try require(answer.command == answered.command && answer.isDuplicate == isRepeat, value)
            try require(answer.id.utf8.elementsEqual(answered.id.utf8) && answer.store.utf8.elementsEqual(shop.store.utf8), value)
            try require(answer.offset == answered.offset && answer.from == answered.from?.header, value)
            if case .answerLost = answer.outcome {
                try require(answer.revision == nil, value)
                continue
            }
            try require(answer.revision == answered.revision, value)
            if let reason = answered.rejection?.reason.rawValue { try require(answer.outcome == .rejected(reason: reason), value) }
        }
    }
}

private func bytes(_ append: (inout OutputBuffer) -> Void) -> [UInt8] { Array(written(append).utf8) }

/// Any bytes are an answer, a note of the journal, or are refused. An answer can be repeated.
public final class AnswerCheck: InvariantCheck {
    /// Answers of all types, and notes.
    public let samples = GoldenAnswers.all + GoldenNotes.all.map(\.value)
    private let decoder = AnswerDecoder()
    private let reader = JournalReader(menu: .standard)
    private let second = JournalReader(menu: .standard)

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes as a record of the journal.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        let decoded: Answer?
        do throws(MalformedMessage) { decoded = try decoder.decode(value) } catch { decoded = nil }

        let record: JournalRecord
        do throws(MalformedMessage) { record = try reader.read(value) } catch { return }
        guard let answer = record.answer else {
            try require(decoded == nil, "a client takes a note for its answer")
            return try check(record.note, value)
        }
        let head = answer.head
        try requireName(head.id)
        try requireName(head.store)
        try require(JournalNote(value) == nil, "an answer taken for a note")
        if let decoded {
            try require(decoded.command == head.command, "another command: \(decoded)")
            try require(decoded.id.utf8.elementsEqual(head.id.bytes), "another id: \(decoded)")
            try require(decoded.store.utf8.elementsEqual(head.store.bytes), "another store: \(decoded)")
            try require(decoded.offset == head.offset && head.offset >= 0, "another offset: \(decoded)")
            try require(decoded.from == head.from?.header, "another source: \(decoded)")
            try require(decoded.isDuplicate == head.isDuplicate, "another duplicate: \(decoded)")
            try require(decoded.revision ?? 0 == answer.revision, "another revision: \(decoded)")
            try checkLevels(of: decoded)
        }
        if !head.isDuplicate { try checkRepeat(of: answer, value) }
    }

    // A note must be the same after it is written and read again.
    private func check(_ note: JournalNote?, _ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        guard let note else { return try require(JournalNote(value) == nil, "an unknown type that is known") }
        try require(JournalNote(value) == note, "read in two ways it is not the same")
        let again = bytes { note.write(into: &$0) }
        let isSame = again.withUnsafeBytes { JournalNote($0) == note }
        try require(isSame, "not the same note again: \(String(decoding: again, as: UTF8.self))")
    }

    // A restore must read the levels that clients see.
    private func checkLevels(of answer: Answer) throws(InvariantViolation) {
        var levels: [FruitAmount] = []
        reader.forEachLevel { fruit, level in levels.append(FruitAmount(fruit: Menu.standard.fruits[fruit].id, amount: level)) }
        let known = answer.outcome.left.filter { line in Menu.standard.fruits.contains { $0.id == line.fruit } }
        // Some answers have no levels for clients.
        let isRight = answer.revision == nil ? levels.isEmpty : known.isEmpty || levels == known
        try require(isRight, "other levels: \(levels)")
    }

    // A repeat must get the same answer, marked as a duplicate, with the repeat's own place.
    private func checkRepeat(of answer: JournalAnswer, _ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        let again = bytes { $0.append(repeating: value, for: answer.head) }
        let end = value.firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
        let marked = value[..<end] + Array(#","duplicate":true"#.utf8) + value[end...]
        try require(again.elementsEqual(marked), "written differently: \(String(decoding: again, as: UTF8.self))")
        let (head, from) = (answer.head, RecordPosition(partition: .max, offset: 9))
        let other = AnswerHead(head.command, id: head.id, store: head.store, offset: 7, from: from)
        let atOther = bytes { $0.append(repeating: value, for: other) }
        let isSame = atOther.withUnsafeBytes { bytes in
            guard let read = (try? second.read(bytes))?.answer else { return false }
            return read.head.isDuplicate && read.head.command == head.command && read.head.id == head.id
                && read.head.store == head.store && read.head.offset == 7 && read.head.from == from
                && read.revision == answer.revision
        }
        try require(isSame, "not the same answer again: \(String(decoding: atOther, as: UTF8.self))")
    }
}

/// Any bytes are the stock of a store or are refused, and a stock can be written again.
public final class StockCheck: InvariantCheck {
    /// Stock records, and what is none.
    public let samples = GoldenAnswers.stocks
    private let restorer = StockRestorer(menu: .standard)
    private let second = StockRestorer(menu: .standard)
    private let decoder = StockDecoder()
    private let encoder = AnswerEncoder(menu: .standard)

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes as a stock record.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        _ = try? decoder.decode(value)
        let stock = try? restorer.restore(value)
        // Read by the template of the store with this key, it is the same, or refused, too.
        let quick = Array("s".utf8).withUnsafeBytes { try? second.restore(value, key: $0) }
        let isQuickTheSame = quick?.revision == stock?.revision && quick?.levels == stock?.levels
        try require(isQuickTheSame, "not the same by the template")
        guard let stock else { return }
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
