import JuiceMaker
import JuiceMessages

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
