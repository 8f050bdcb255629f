import Foundation

/// Reads JSON strictly into flat tokens.
///
/// Foundation's readers do not serve the contract: they pick one of several members with the same name, guess encodings and
/// do not distinguish `1` from `1.0`.
package struct JSONReader {
    /// A value, or the name of a member.
    package struct Token {
        package let kind: Kind
        /// Of a string: what it says, without quotes and escapes.
        var text = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        /// Where it ends in the document.
        var end = 0
        /// The first token after this value and everything in it.
        package var next: Int
        /// The value of a number written as an integer, if it fits.
        var integer = 0
    }

    package enum Kind { case object, array, string, integer, number, yes, no, null }

    package private(set) var tokens: [Token] = []
    /// Whether objects and arrays are nested deeper than in any command. Such a document is not read to its end.
    private(set) var isTooDeep = false
    private var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    private var position = 0
    private var isASCII = true
    /// The strings that had escapes, unescaped.
    private var unescaped = Memory(capacity: 1024)
    private var unescapedEnd = 0

    package init() {}

    /// Memory at a fixed address.
    private final class Memory {
        let bytes: UnsafeMutableBufferPointer<UInt8>

        init(capacity: Int) { bytes = .allocate(capacity: capacity) }

        deinit { bytes.deallocate() }
    }

    /// Reads one document. The tokens are valid as long as both the bytes and the reader.
    ///
    /// - Returns: whether the bytes are one JSON document in UTF-8. A byte order mark is ignored.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        tokens.removeAll(keepingCapacity: true)
        (self.bytes, isTooDeep, unescapedEnd, isASCII) = (bytes, false, 0, true)
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // Unescaped text is never longer.
        if unescaped.bytes.count < bytes.count { unescaped = Memory(capacity: bytes.count) }
        return value(1) && next() == nil && (isASCII || isUTF8(bytes))
    }

    /// Reads an object, and leaves its tokens.
    package mutating func readObject(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { read(bytes) && tokens[0].kind == .object }

    /// The next byte that is no space, which stays next.
    @inline(__always) private mutating func next() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    @discardableResult @inline(__always) private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, character ~= bytes[position] else { return false }
        position += 1
        return true
    }

    private mutating func value(_ depth: Int) -> Bool {
        switch next() {
        case "{": members(.object, depth)
        case "[": members(.array, depth)
        case "\"": string()
        case "t": literal("true", .yes)
        case "f": literal("false", .no)
        case "n": literal("null", .null)
        case nil: false
        default: number()
        }
    }

    private mutating func members(_ kind: Kind, _ depth: Int) -> Bool {
        isTooDeep = depth > Contract.deepestNesting
        guard !isTooDeep else { return false }
        let start = tokens.count
        tokens.append(Token(kind: kind, next: 0))
        position += 1
        var isFirst = true
        while let byte = next(), byte != UInt8(ascii: kind == .object ? "}" : "]") {
            guard isFirst || skip(",") else { return false }
            if kind == .object {
                guard next() == UInt8(ascii: "\""), string(), next() != nil, skip(":") else { return false }
            }
            guard value(depth + 1) else { return false }
            isFirst = false
        }
        position += 1
        (tokens[start].next, tokens[start].end) = (tokens.count, position)
        return position <= bytes.count
    }

    private mutating func literal(_ text: StaticString, _ kind: Kind) -> Bool {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count, isSame(UnsafeBufferPointer(rebasing: bytes[position..<end]), text) else { return false }
        tokens.append(Token(kind: kind, end: end, next: tokens.count + 1))
        position = end
        return true
    }

    private mutating func number() -> Bool {
        let start = position
        skip("-")
        let first = position
        guard digits(), position - first == 1 || bytes[first] != UInt8(ascii: "0") else { return false }
        let end = position
        if skip("."), !digits() { return false }
        if skip("e") || skip("E") {
            if !skip("+") { skip("-") }
            guard digits() else { return false }
        }
        let integer = position == end ? Self.integer(bytes[start..<end]) : nil
        tokens.append(
            Token(kind: integer == nil ? .number : .integer, end: position, next: tokens.count + 1, integer: integer ?? 0))
        return true
    }

    /// Whether there is a digit; skips all that follow each other.
    private mutating func digits() -> Bool {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > start
    }

    /// The value of decimal digits with an optional minus; nil if it does not fit.
    static func integer(_ text: some Collection<UInt8>) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        var integer: Int?
        for byte in isNegative ? text.dropFirst() : text[...] {
            let (digit, tens) = (Int(byte) - 48, (integer ?? 0).multipliedReportingOverflow(by: 10))
            let sum = tens.partialValue.addingReportingOverflow(isNegative ? -digit : digit)
            guard 0...9 ~= digit, !tens.overflow, !sum.overflow else { return nil }
            integer = sum.partialValue
        }
        return integer
    }

    private mutating func string() -> Bool {
        let start = position
        var hasEscapes = false
        position += 1
        while true {
            skipPlain()
            switch position < bytes.count ? bytes[position] : 0 {
            case "\"":
                position += 1
                let text = UnsafeBufferPointer(rebasing: bytes[start + 1..<position - 1])
                guard let text = hasEscapes ? unescape(start..<position) : text else { return false }
                tokens.append(Token(kind: .string, text: text, end: position, next: tokens.count + 1))
                return true
            case "\\":
                hasEscapes = true
                position += 2
            case 0..<0x20: return false
            case let byte:
                if byte >= 0x80 { isASCII = false }
                position += 1
            }
        }
    }

    /// Skips characters that mean nothing, eight at a time: neither quotes, backslashes, controls nor beyond ASCII.
    @inline(__always) private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
        let raw = UnsafeRawBufferPointer(bytes)
        while position + 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian
            let special = word | (word &- ones &* 0x20) | zeros(word ^ ones &* 0x22) | zeros(word ^ ones &* 0x5C)
            let found = special & (ones &* 0x80)
            guard found == 0 else { return position += found.trailingZeroBitCount / 8 }
            position += 8
        }
    }

    /// What a string with escapes says; nil if there are no such escapes.
    private mutating func unescape(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8>? {
        guard let text = try? JSONDecoder().decode(String.self, from: Data(bytes[range])) else { return nil }
        let end = unescapedEnd + text.utf8.count
        let memory = UnsafeMutableBufferPointer(rebasing: unescaped.bytes[unescapedEnd..<end])
        _ = memory.initialize(from: text.utf8)
        unescapedEnd = end
        return UnsafeBufferPointer(memory)
    }
}

private func ~= (character: Unicode.Scalar, byte: UInt8?) -> Bool { byte == UInt8(ascii: character) }

// MARK: - Tokens

extension JSONReader {
    /// The text of a string.
    package func text(_ index: Int) -> UnsafeBufferPointer<UInt8> { tokens[index].text }

    /// What is written in the document after a value, up to another one's end.
    func written(after first: Int, through last: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[tokens[first].end..<max(tokens[first].end, tokens[last].end)])
    }

    package func string(_ index: Int) -> UnsafeBufferPointer<UInt8>? {
        tokens[index].kind == .string ? text(index) : nil
    }

    package func integer(_ index: Int) -> Int? { tokens[index].kind == .integer ? tokens[index].integer : nil }

    /// Calls `body` with the tokens of each name and its value, until it returns false.
    @inline(__always) package func forEachMember(of object: Int, _ body: (_ name: Int, _ value: Int) -> Bool) {
        var index = object + 1
        while index < tokens[object].next, body(index, index + 1) { index = tokens[index + 1].next }
    }

    /// The first member of this name.
    package func value(_ name: StaticString, of object: Int = 0) -> Int? { value(name, of: object, from: object + 1) }

    func isRepeated(_ name: StaticString, of object: Int = 0) -> Bool {
        value(name, of: object).map { value(name, of: object, from: tokens[$0].next) != nil } ?? false
    }

    @inline(__always) private func value(_ name: StaticString, of object: Int, from start: Int) -> Int? {
        var index = start
        while index < tokens[object].next {
            if isName(index, name) { return index + 1 }
            index = tokens[index + 1].next
        }
        return nil
    }

    @inline(__always) func isName(_ index: Int, _ name: StaticString) -> Bool { isSame(text(index), name) }

    /// The text of a string member.
    package func string(_ name: StaticString) -> String? {
        value(name).flatMap(string).map { String(decoding: $0, as: UTF8.self) }
    }

    package func integer(_ name: StaticString) -> Int? { value(name).flatMap(integer) }

    func isType(_ type: StaticString) -> Bool {
        value("type").flatMap(string).map { isSame($0, type) } ?? false
    }

    /// The tokens of an array's elements.
    func elements(of array: Int) -> [Int] {
        Array(sequence(first: array + 1) { tokens[$0].next }.prefix { $0 < tokens[array].next })
    }

    /// What is written as the values of an object's members, by name.
    func members(_ name: StaticString) -> [String: String] {
        var members: [String: String] = [:]
        guard let object = value(name), tokens[object].kind == .object else { return members }
        forEachMember(of: object) { name, value in
            let written = written(after: name, through: value).drop { $0 == UInt8(ascii: ":") }
            members[String(decoding: text(name), as: UTF8.self)] = String(decoding: written, as: UTF8.self)
            return true
        }
        return members
    }

    /// Offsets by partitions of inputs.
    func offsets(_ name: StaticString) -> [String: Int64] { members(name).compactMapValues { Int64($0) } }
}
