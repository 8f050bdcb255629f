/// The answer to a repeat with its id, its places and its numbers left blank, which many answers share.
///
/// Any answer can be taken apart this way, whatever menu, language or version wrote it: a rejection, or one whose numbers
/// mean nothing under the present menu. With the blanks filled in it is that answer again, byte by byte, with
/// `"duplicate":true` after its type, and with the repeat's own offset and source.
public struct AnswerTemplate: Sendable, Hashable {
    /// UTF-8, with a byte that UTF-8 never has for each blank.
    private let bytes: [UInt8]

    private enum Blank: UInt8 {
        /// The members of the head, from the id to the offset and the source.
        case head = 0xF8
        /// The next number.
        case number
        /// The next of the same numbers, counted from the first again: most messages repeat what the fields say.
        case repeatedNumber
    }

    /// How much of an answer's message a template keeps.
    public enum MessageLength: Sendable {
        /// All of it.
        case whole
        /// Nothing but an "…", so that answers whose messages quote their senders share a template.
        case clipped
    }

    /// The template of an answer, and what it leaves blank.
    ///
    /// - Parameters:
    ///   - answer: the answer's value as this project writes it, in UTF-8. A ``JournalReader`` accepts no other.
    ///   - head: the answer's head.
    ///   - length: how much of the message to keep.
    ///   - numbers: the numbers that were left blank are appended to it.
    public init(
        of answer: UnsafeRawBufferPointer,
        _ head: AnswerHead,
        message length: MessageLength = .whole,
        numbers: inout [Int]
    ) {
        // The type is the first member of every answer, and no type has a comma in it.
        let type = answer.firstIndex(of: UInt8(ascii: ",")) ?? answer.endIndex
        var members = OutputBuffer()
        if head.isDuplicate { members.append(AnswerHead.duplicateMember) }
        members.append(membersOf: head)
        var rest = UnsafeRawBufferPointer(rebasing: answer[type...].dropFirst(members.count))
        var end = StaticString("")
        if length == .clipped, let message = rest.end(of: #","message":""#) {
            rest = UnsafeRawBufferPointer(rebasing: rest[..<message])
            end = #"…"}"#
        }
        var template = OutputBuffer(capacity: answer.count + 32)
        template.append(UnsafeRawBufferPointer(rebasing: answer[..<type]))
        template.append(AnswerHead.duplicateMember)
        template.append(byte: Blank.head.rawValue)
        Self.append(rest, to: &template, numbers: &numbers)
        template.append(end)
        bytes = template.bytes
    }

    /// Its length in bytes.
    public var count: Int { bytes.count }

    /// Whether an answer, as this project writes it, is a rejection.
    public static func isRejection(_ answer: UnsafeRawBufferPointer) -> Bool {
        isAnswer(answer, of: AnswerEncoder.rejectedType)
    }

    /// Whether the answers took their orders back.
    public var isCancelled: Bool {
        bytes.withUnsafeBytes { Self.isAnswer($0, of: AnswerContent.Kind.cancelled.type) }
    }

    private static func isAnswer(_ answer: UnsafeRawBufferPointer, of type: StaticString) -> Bool {
        var beginning = OutputBuffer()
        beginning.append(type: type, isDuplicate: false)
        return answer.begins(with: beginning.unsafeBytes)
    }

    private static func append(
        _ rest: UnsafeRawBufferPointer,
        to template: inout OutputBuffer,
        numbers: inout [Int]
    ) {
        var (copied, position, repeated) = (0, 0, 0)
        while position < rest.count {
            guard rest[position].isDigit else {
                position += 1
                continue
            }
            let start = position
            while position < rest.count, rest[position].isDigit { position += 1 }
            guard let number = UnsafeRawBufferPointer(rebasing: rest[start..<position]).decimal else {
                continue
            }
            template.append(UnsafeRawBufferPointer(rebasing: rest[copied..<start]))
            copied = position
            if repeated < numbers.count, numbers[repeated] == number {
                repeated += 1
                template.append(byte: Blank.repeatedNumber.rawValue)
            } else {
                numbers.append(number)
                template.append(byte: Blank.number.rawValue)
            }
        }
        template.append(UnsafeRawBufferPointer(rebasing: rest[copied...]))
    }
}

extension AnswerTemplate {
    /// Writes the answer to a repeat.
    ///
    /// - Parameters:
    ///   - head: the head of the answer.
    ///   - numbers: the numbers that were left blank; any beyond them are 0.
    ///   - buffer: the answer is appended to it.
    public func write(_ head: AnswerHead, numbers: [Int], into buffer: inout OutputBuffer) {
        var (next, repeated) = (numbers.makeIterator(), numbers.makeIterator())
        for byte in bytes {
            switch Blank(rawValue: byte) {
            case nil: buffer.append(byte: byte)
            case .head: buffer.append(membersOf: head)
            case .number: buffer.append(decimal: next.next() ?? 0)
            case .repeatedNumber: buffer.append(decimal: repeated.next() ?? 0)
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    func begins(with bytes: UnsafeRawBufferPointer) -> Bool {
        count >= bytes.count && UnsafeRawBufferPointer(rebasing: self[..<bytes.count]).hasSameBytes(as: bytes)
    }

    /// The index after the first occurrence of a text.
    fileprivate func end(of text: StaticString) -> Int? {
        let text = BorrowedText(text).bytes
        return indices.first { UnsafeRawBufferPointer(rebasing: self[$0...]).begins(with: text) }
            .map { $0 + text.count }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") }
}
