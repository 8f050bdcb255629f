/// The answer to a repeat with its id, store and numbers left blank, which many answers share.
///
/// Any answer can be taken apart this way, whatever menu, language or version wrote it: a rejection, or one whose numbers
/// mean nothing under the present menu. With its id, store and numbers filled in it is that answer again, byte by byte,
/// with `"duplicate":true` after its type.
public struct AnswerTemplate: Sendable, Hashable {
    /// UTF-8, with a byte that UTF-8 never has for each blank.
    private let bytes: [UInt8]

    private enum Blank: UInt8 {
        case id = 0xF8
        case store
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
    /// If id and store do not stand where this project writes them, nothing is left blank.
    ///
    /// - Parameters:
    ///   - answer: the answer's value, in UTF-8.
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
        var rest = UnsafeRawBufferPointer(rebasing: answer[type...])
        var template = OutputBuffer(capacity: answer.count + 32)
        template.append(UnsafeRawBufferPointer(rebasing: answer[..<type]))
        template.append(AnswerHead.duplicateMember)

        var names = OutputBuffer()
        names.append(idFieldOf: head.command)
        names.append(idAndStoreOf: head)
        if rest.begins(with: names.unsafeBytes) {
            template.append(idFieldOf: head.command)
            template.append(byte: Blank.id.rawValue)
            template.append(AnswerHead.storeMember)
            template.append(byte: Blank.store.rawValue)
            rest = UnsafeRawBufferPointer(rebasing: rest[names.count...])
            var end = StaticString("")
            if length == .clipped, let message = rest.end(of: #","message":""#) {
                rest = UnsafeRawBufferPointer(rebasing: rest[..<message])
                end = #"…"}"#
            }
            Self.append(rest, to: &template, numbers: &numbers)
            template.append(end)
        } else {
            template.append(rest)
        }
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
            guard let number = number(in: UnsafeRawBufferPointer(rebasing: rest[start..<position])) else {
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

    /// The number, if these digits are how it is written: without leading zeros.
    private static func number(in digits: UnsafeRawBufferPointer) -> Int? {
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        var number = 0
        for digit in digits {
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        return number
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
            case .id: buffer.append(escaped: head.id)
            case .store: buffer.append(escaped: head.store)
            case .number: buffer.append(decimal: next.next() ?? 0)
            case .repeatedNumber: buffer.append(decimal: repeated.next() ?? 0)
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func begins(with bytes: UnsafeRawBufferPointer) -> Bool {
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
