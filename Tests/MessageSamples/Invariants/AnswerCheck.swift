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
            try require(decoded != nil, "a content of what is no answer")
            try check(content, head, value)
        }
        if !head.isDuplicate, !saysWhetherDuplicate(value) { try checkRepeat(of: answer, value) }
    }

    /// The content of an answer by this project, as it is remembered; nil if it needs a template.
    func content(of value: [UInt8]) throws(InvariantViolation) -> AnswerContent? {
        try check(value)
        do {
            let answer = try value.withUnsafeBytes { try reader.read($0, into: &content) }
            return answer.hasContent ? content : nil
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

    // It can be packed, and what is unpacked is written the same way.
    private func check(
        _ packed: AnswerContent,
        _ head: AnswerHead,
        _ value: UnsafeRawBufferPointer
    ) throws(InvariantViolation) {
        var numbers = NumberArray()
        try require(packed.pack(into: &numbers), "a content that cannot be packed")
        var content = AnswerContent()
        let isOfMenu = content.unpack(packed.kind, from: &numbers, by: maker)
        try require(isOfMenu, "not of the menu it was packed under")
        if let compact = CompactAnswer(packed) {
            var compacted = AnswerContent()
            try require(compacted.unpack(compact, by: maker), "not of the menu it was packed under")
            try require(compacted.isSame(as: content), "packed in two ways it is not the same")
        }
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
            var content = AnswerContent()
            guard let read = try? second.read(bytes, into: &content) else { return false }
            return read.head.isDuplicate && read.head.command == answer.head.command
                && read.head.id == answer.head.id && read.head.store == answer.head.store
                && read.hasContent == answer.hasContent
                && (!read.hasContent || content.isSame(as: self.content))
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
