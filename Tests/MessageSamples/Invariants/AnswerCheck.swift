import JuiceMaker
import JuiceMessages

/// Any bytes are an answer or are refused, and an answer can be remembered and given again.
public final class AnswerCheck: InvariantCheck {
    private let decoder = AnswerDecoder()
    private let reader: RememberedAnswerReader
    private let second: RememberedAnswerReader
    private let encoder = AnswerEncoder(menu: .standard)
    private let maker = JuiceMaker(menu: .standard)
    private var content = AnswerContent()
    private var other = AnswerContent()

    /// A check by the built-in menu, in English.
    public init() {
        reader = RememberedAnswerReader(encoder: encoder)
        second = RememberedAnswerReader(encoder: encoder)
    }

    /// Checks the bytes as an answer.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        let decoded: Answer?
        do throws(MalformedMessage) {
            decoded = try decoder.decode(value)
        } catch {
            decoded = nil
        }

        let answer: RememberedAnswer
        do throws(MalformedMessage) {
            answer = try reader.read(value, into: &content)
        } catch {
            return
        }
        let head = answer.head
        try requireName(head.id)
        try requireName(head.store)
        if let decoded {
            try require(decoded.command == head.command, "another command: \(decoded)")
            try require(decoded.id.utf8.elementsEqual(head.id.bytes), "another id: \(decoded)")
            try require(decoded.store.utf8.elementsEqual(head.store.bytes), "another store: \(decoded)")
            try require(decoded.isDuplicate == head.isDuplicate, "another duplicate: \(decoded)")
        }
        if answer.hasContent {
            try require(decoded != nil, "the content of an answer that is none")
            try checkContent(head, value)
        }
        if !head.isDuplicate, !saysWhetherDuplicate(value) { try checkRepeat(of: answer, value) }
    }

    /// How an answer by this project is remembered: whether it has a content, and that if it fits into 16 bytes.
    func remembered(_ value: [UInt8]) throws(InvariantViolation) -> (
        hasContent: Bool, compact: CompactAnswer?
    ) {
        try check(value)
        do {
            let hasContent = try value.withUnsafeBytes { try reader.read($0, into: &content).hasContent }
            return (hasContent, hasContent ? CompactAnswer(content) : nil)
        } catch {
            throw InvariantViolation(description: "\(error): \(String(decoding: value, as: UTF8.self))")
        }
    }

    private func check(_ value: [UInt8]) throws(InvariantViolation) {
        // The standard library's method forgets the type of what its closure throws.
        try value.withUnsafeBytes { bytes in
            Result { () throws(InvariantViolation) in try check(bytes) }
        }.get()
    }

    /// Checks that the content, and what is unpacked of it, are written as the value.
    private func checkContent(
        _ head: AnswerHead,
        _ value: UnsafeRawBufferPointer
    ) throws(InvariantViolation) {
        if let compact = CompactAnswer(content) {
            try require(other.unpack(compact, by: maker), "not of the menu it was packed under")
            try checkWriting(other, head, value)
        }
        try checkWriting(content, head, value)
    }

    private func checkWriting(
        _ content: AnswerContent,
        _ head: AnswerHead,
        _ value: UnsafeRawBufferPointer
    ) throws(InvariantViolation) {
        let first = AnswerHead(head.command, id: head.id, store: head.store)
        for other in [first, first.duplicate] {
            let again = bytes { encoder.write(content, other, into: &$0) }
            if other.isDuplicate == head.isDuplicate {
                try require(
                    again.elementsEqual(value),
                    "written differently: \(String(decoding: again, as: UTF8.self))"
                )
            } else {
                let isDuplicate = try decoder.decodeOwn(again).isDuplicate
                try require(isDuplicate == other.isDuplicate, "not marked as a duplicate")
            }
        }
    }

    // Its template must give the same answer again, marked as a duplicate.
    private func checkRepeat(
        of answer: RememberedAnswer,
        _ value: UnsafeRawBufferPointer
    ) throws(InvariantViolation) {
        var numbers: [Int] = []
        let template = AnswerTemplate(of: value, answer.head, numbers: &numbers)
        let again = bytes { template.write(answer.head, numbers: numbers, into: &$0) }
        let end = value.firstIndex(of: UInt8(ascii: ",")) ?? value.endIndex
        let marked = value[..<end] + Array(#","duplicate":true"#.utf8) + value[end...]
        try require(
            again.elementsEqual(marked),
            "written differently: \(String(decoding: again, as: UTF8.self))"
        )
        let isSame = again.withUnsafeBytes { bytes in
            let had = answer.hasContent ? CompactAnswer(content) : nil
            guard let read = try? second.read(bytes, into: &other) else { return false }
            return read.head.isDuplicate && read.head.command == answer.head.command
                && read.head.id == answer.head.id && read.head.store == answer.head.store
                && read.role == answer.role && read.hasContent == answer.hasContent
                && (read.hasContent ? CompactAnswer(other) : nil) == had
        }
        try require(isSame, "not the same answer again: \(String(decoding: again, as: UTF8.self))")
    }

    // This project never writes `"duplicate":false`; marking such an answer would give the field twice.
    private func saysWhetherDuplicate(_ value: UnsafeRawBufferPointer) -> Bool {
        // The name may also be spelled with escapes.
        let text = String(decoding: value, as: UTF8.self)
        return text.contains("duplicate") || text.contains("\\u")
    }
}
