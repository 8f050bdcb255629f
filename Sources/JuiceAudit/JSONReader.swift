/// Reads JSON strictly into flat tokens.
///
/// Foundation's readers do not serve the contract: they pick one of several members with the same name, guess encodings and
/// do not distinguish `1` from `1.0`.
package struct JSONReader {
    /// A value, or the name of a member.
    package struct Token {
        package let kind: Kind
        /// Whether a string had escapes, so that its text is not in the document.
        var isUnescaped = false
        /// Its text, of a string without quotes.
        var start = 0
        var count = 0
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
    package mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        tokens.removeAll(keepingCapacity: true)
        (self.bytes, isTooDeep, unescapedEnd, isASCII) = (bytes, false, 0, true)
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // Unescaped text is never longer.
        if unescaped.bytes.count < bytes.count { unescaped = Memory(capacity: bytes.count) }
        return value(1) && next() == nil && (isASCII || isUTF8(bytes))
    }

    /// Reads an object, and leaves its tokens.
    mutating func readObject(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        read(bytes) && tokens[0].kind == .object
    }

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
}

private func ~= (character: Unicode.Scalar, byte: UInt8?) -> Bool { byte == UInt8(ascii: character) }

// MARK: - Numbers and strings

extension JSONReader {
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
        let kind: Kind = integer == nil ? .number : .integer
        tokens.append(Token(kind: kind, end: position, next: tokens.count + 1, integer: integer ?? 0))
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
        position += 1
        let start = position
        var escapedStart: Int?
        while position < bytes.count {
            if escapedStart == nil { skipPlain() }
            switch position < bytes.count ? bytes[position] : 0 {
            case "\"":
                position += 1
                var token = Token(kind: .string, next: tokens.count + 1)
                (token.start, token.count) = escapedStart.map { ($0, unescapedEnd - $0) } ?? (start, position - 1 - start)
                (token.isUnescaped, token.end) = (escapedStart != nil, position)
                tokens.append(token)
                return true
            case "\\":
                if escapedStart == nil {
                    escapedStart = unescapedEnd
                    append(bytes[start..<position])
                }
                guard escape() else { return false }
            case 0..<0x20: return false
            case let byte:
                if byte >= 0x80 { isASCII = false }
                if escapedStart != nil { append(CollectionOfOne(byte)) }
                position += 1
            }
        }
        return false
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

    private mutating func append(_ text: some Sequence<UInt8>) {
        for byte in text {
            unescaped.bytes[unescapedEnd] = byte
            unescapedEnd += 1
        }
    }

    private mutating func escape() -> Bool {
        let byte = position + 1 < bytes.count ? bytes[position + 1] : 0
        position += 2
        switch byte {
        case "\"", "\\", "/": append(CollectionOfOne(byte))
        case "b": append("\u{8}".utf8)
        case "f": append("\u{c}".utf8)
        case "n": append("\n".utf8)
        case "r": append("\r".utf8)
        case "t": append("\t".utf8)
        case "u":
            guard let text = escapedScalar().flatMap(UTF8.encode) else { return false }
            append(text)
        default: return false
        }
        return true
    }

    /// The code point of a `\u` escape, or of the two that make a surrogate pair.
    private mutating func escapedScalar() -> Unicode.Scalar? {
        guard let first = hexadecimal() else { return nil }
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
        guard skip("\\"), skip("u"), let second = hexadecimal(), 0xDC00..<0xE000 ~= second else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func hexadecimal() -> UInt32? {
        let digits = bytes.dropFirst(position).prefix(4)
        position += 4
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}

// MARK: - Tokens

extension JSONReader {
    /// The text of a string.
    package func text(_ index: Int) -> UnsafeBufferPointer<UInt8> {
        let token = tokens[index]
        let source = token.isUnescaped ? UnsafeBufferPointer(unescaped.bytes) : bytes
        return UnsafeBufferPointer(rebasing: source[token.start..<token.start + token.count])
    }

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

    @inline(__always) func isName(_ index: Int, _ name: StaticString) -> Bool {
        tokens[index].count == name.utf8CodeUnitCount && isSame(text(index), name)
    }

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
}

extension JSONReader {
    /// Offsets by partitions of inputs.
    func offsets(_ name: StaticString) -> [String: Int64] {
        var offsets: [String: Int64] = [:]
        guard let object = value(name), tokens[object].kind == .object else { return offsets }
        forEachMember(of: object) { name, value in
            offsets[String(decoding: text(name), as: UTF8.self)] = integer(value).map(Int64.init)
            return true
        }
        return offsets
    }
}

/// Stands for a sequence of numbers and byte strings. Two different ones never have the same value in practice.
struct Digest {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func add(_ word: UInt64) {
        let product = (value ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: word ^ 0xE703_7ED1_A0B4_28DB)
        value = product.high ^ product.low ^ word
    }

    /// Adds a byte string. Its length is added too, so that two strings differ from one.
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        add(UInt64(raw.count))
        var position = 0
        while position + 8 <= raw.count {
            add(raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        if position < raw.count { add(raw[position...].reduce(0) { $0 << 8 | UInt64($1) }) }
    }

    /// Adds a byte string, or that there is none.
    mutating func add(_ bytes: [UInt8]?) {
        add(bytes == nil ? 0 : 1)
        bytes?.withUnsafeBufferPointer { add($0) }
    }
}

/// Whether two byte strings are the same.
func isSame(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool {
    guard first.count == second.count else { return false }
    // Without an early end, so that many are compared at once.
    var difference: UInt8 = 0
    for index in first.indices { difference |= first[index] ^ second[index] }
    return difference == 0
}

func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ other: [UInt8]) -> Bool {
    other.withUnsafeBufferPointer { isSame(bytes, $0) }
}

func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ literal: StaticString) -> Bool {
    isSame(bytes, UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
}

func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

/// Text from records as faults show it: quoted, and cut after 64 bytes.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}

/// The latest values by their keys: at least so many as asked for, and at most twice as many.
struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    /// Whether some were dropped.
    private(set) var hasForgotten = false
    private let count: Int

    init(_ count: Int) { self.count = count }

    subscript(key: Key) -> Value? {
        get { young[key] ?? (old.isEmpty ? nil : old[key]) }
        set {
            young[key] = newValue
            if newValue == nil { old[key] = nil }
            if young.count >= count { (old, young, hasForgotten) = (young, [:], !old.isEmpty) }
        }
    }
}

// MARK: - JSON

// As the service writes it: without spaces.
extension [UInt8] {
    mutating func add(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func add(_ number: Int) {
        guard number >= 0 else { return append(contentsOf: String(number).utf8) }
        if number >= 10 { add(number / 10) }
        append(UInt8(48 + number % 10))
    }

    mutating func add(quoted text: some Collection<UInt8>) {
        let (quote, escape) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        append(quote)
        if text.contains(where: { $0 == quote || $0 == escape || $0 < 0x20 }) {
            for byte in text {
                switch byte {
                case quote, escape: append(contentsOf: [escape, byte])
                case UInt8(ascii: "\n"): add("\\n")
                case UInt8(ascii: "\r"): add("\\r")
                case UInt8(ascii: "\t"): add("\\t")
                case 0..<0x20:
                    add(byte < 0x10 ? "\\u000" : "\\u00")
                    append(contentsOf: String(byte, radix: 16).utf8)
                default: append(byte)
                }
            }
        } else {
            append(contentsOf: text)
        }
        append(quote)
    }

    /// Adds elements or members with commas between them.
    mutating func add<Part>(_ elements: some Sequence<Part>, _ body: (inout [UInt8], Part) -> Void) {
        var isFirst = true
        for element in elements {
            if !isFirst { add(",") }
            isFirst = false
            body(&self, element)
        }
    }

    /// Adds an object of fruits.
    mutating func add(
        _ amounts: some Sequence<AuditMenu.Amount>, _ menu: AuditMenu, by amount: (AuditMenu.Amount) -> Int = \.amount
    ) {
        add("{")
        add(amounts) { text, part in
            text += menu.fruits[part.fruit].member
            text.add(amount(part))
        }
        add("}")
    }
}
