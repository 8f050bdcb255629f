import JuiceMaker
import JuiceMessages

// The forms in which answers are kept.
extension DuplicateMemory {
    /// Packs an answer. It must be remembered at once.
    ///
    /// - Parameters:
    ///   - content: what it says; nil if only its value says that.
    ///   - value: the answer's value.
    ///   - head: the answer's head.
    /// - Returns: the answer, as it is to be remembered.
    @inline(__always)
    package mutating func pack(
        _ content: AnswerContent,
        orElse value: UnsafeRawBufferPointer,
        _ head: AnswerHead
    ) -> CompactAnswer {
        CompactAnswer(content) ?? templates.add(content) ?? pack(value, head)
    }

    /// Packs an answer that no content says. It must be remembered at once.
    package mutating func pack(_ value: UnsafeRawBufferPointer, _ head: AnswerHead) -> CompactAnswer {
        templates.add(value, head)
    }

    /// Whether an answer took an order back.
    package func isCancelled(_ answer: CompactAnswer) -> Bool {
        answer.contentKind.map { $0 == .cancelled } ?? templates.isCancelled(answer)
    }

    /// Unpacks the content of an answer.
    ///
    /// - Returns: false for an answer that has a template instead, or that is none of the maker's menu.
    package func unpack(
        _ answer: CompactAnswer,
        into content: inout AnswerContent,
        by maker: JuiceMaker
    ) -> Bool {
        guard let kind = answer.contentKind, let place = answer.numbersPlace else {
            return content.unpack(answer, by: maker)
        }
        var numbers = templates.numbers(at: place)
        return content.unpack(kind, from: &numbers, by: maker)
    }

    /// Writes an answer that has a template.
    ///
    /// - Returns: false, having written nothing, for an answer that has a content instead.
    package func write(_ answer: CompactAnswer, _ head: AnswerHead, into buffer: inout OutputBuffer) -> Bool {
        templates.write(answer, head, into: &buffer)
    }
}
