/// What answers to repeats have in common: an answer whose id, store and numbers are left blank.
///
/// It takes any answer, whatever menu, language or version wrote it: a rejection, or one whose numbers mean nothing to
/// the menu at hand. Filled in with its id, store and numbers it is that answer again, byte by byte, with
/// `"duplicate":true` after its type.
public struct AnswerTemplate: Sendable, Hashable {
    /// UTF-8, with a byte for each blank that is none.
    private let bytes: [UInt8]

    private enum Blank: UInt8 {
        case id = 0xF8
        case store
        /// The next number.
        case number
        /// The next of the same numbers, from the first on: most messages repeat what the fields say.
        case repeatedNumber
    }

    /// The template of an answer, and what it leaves blank.
    ///
    /// An answer whose id and store do not stand where this project writes them is a template for itself alone.
    ///
    /// - Parameters:
    ///   - answer: its value, in UTF-8.
    ///   - command: what it answers.
    ///   - id: the command's id.
    ///   - store: the store that it was for.
    ///   - clipsMessage: leaves the message away, but for an "…".
    ///   - numbers: takes the numbers.
    public init(
        of answer: UnsafeRawBufferPointer,
        to command: CommandKind,
        id: BorrowedText,
        store: BorrowedText,
        clipsMessage: Bool = false,
        numbers: inout [Int]
    ) {
        // The type is the first member of every answer, and no type has a comma in it.
        let type = answer.firstIndex(of: UInt8(ascii: ",")) ?? answer.endIndex
        var rest = UnsafeRawBufferPointer(rebasing: answer[type...])
        var template = OutputBuffer(capacity: answer.count + 32)
        template.append(UnsafeRawBufferPointer(rebasing: answer[..<type]))
        template.append(AnswerEncoder.duplicateMember)

        var names = OutputBuffer()
        AnswerEncoder.append(command, id: id, store: store, into: &names)
        if rest.begins(with: names.unsafeBytes) {
            AnswerEncoder.append(command, into: &template)
            template.append(byte: Blank.id.rawValue)
            template.append(AnswerEncoder.storeMember)
            template.append(byte: Blank.store.rawValue)
            rest = UnsafeRawBufferPointer(rebasing: rest[names.count...])
            var end = StaticString("")
            if clipsMessage, let message = rest.end(of: #","message":""#) {
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

    /// How many bytes it has.
    public var count: Int { bytes.count }

    /// Whether an answer, as this project writes it, is a rejection.
    public static func isRejection(_ answer: UnsafeRawBufferPointer) -> Bool {
        answer.begins(with: BorrowedText(AnswerEncoder.rejectedType).bytes)
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

    /// The number that is written with just these digits.
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
    ///   - id: the command's id.
    ///   - store: the store that it was for.
    ///   - numbers: those that were left blank; whatever comes after them is 0.
    ///   - buffer: gets it.
    public func write(
        id: BorrowedText,
        store: BorrowedText,
        numbers: [Int],
        into buffer: inout OutputBuffer
    ) {
        var (next, repeated) = (numbers.makeIterator(), numbers.makeIterator())
        for byte in bytes {
            switch Blank(rawValue: byte) {
            case nil: buffer.append(byte: byte)
            case .id: buffer.append(escaped: id)
            case .store: buffer.append(escaped: store)
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

    /// The place behind the first occurrence of a text.
    fileprivate func end(of text: StaticString) -> Int? {
        let text = BorrowedText(text).bytes
        return indices.first { UnsafeRawBufferPointer(rebasing: self[$0...]).begins(with: text) }
            .map { $0 + text.count }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") }
}
