/// Reads JSON strictly into flat tokens.
///
/// Foundation's readers do not serve the contract: they pick one of several members with the same name, guess encodings and
/// do not distinguish `1` from `1.0`. This one reads any depth, without recursion, so that a document that is too deep can be
/// told from one that is not JSON.
struct JSONReader {
    struct Token {
        let kind: Kind
        /// Whether a string is in ``unescaped`` rather than in the document.
        var isUnescaped = false
        /// The range of its text: a string without quotes, a number as written.
        var start = 0
        var count = 0
        /// The first token after this value and everything in it.
        var next: Int
        /// The value of a number written as an integer, if it fits.
        var integer = 0
    }

    enum Kind: Int { case object, array, string, integer, number, yes, no, null }

    private enum Expectation { case value, firstElement, firstKey, key, separator, end }

    var tokens: [Token] = []
    /// The deepest nesting of objects and arrays so far.
    private(set) var depth = 0
    private var open: [Int] = []
    var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    var position = 0
    /// The strings that had escapes, unescaped.
    var unescaped = Memory(capacity: 1024)
    var unescapedEnd = 0

    /// Reads one document. The tokens are valid as long as both the bytes and the reader.
    ///
    /// - Returns: whether the bytes are one JSON document in UTF-8. A byte order mark is ignored.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        tokens.removeAll(keepingCapacity: true)
        open.removeAll(keepingCapacity: true)
        (depth, position, unescapedEnd) = (0, 0, 0)
        self.bytes = bytes
        // Unescaped text is never longer.
        if unescaped.bytes.count < bytes.count { unescaped = Memory(capacity: bytes.count) }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        var expectation = Expectation.value
        while true {
            skipSpace()
            guard position < bytes.count else { return expectation == .end }
            guard let next = step(expectation, bytes[position]) else { return false }
            expectation = next
        }
    }

    private mutating func step(_ expectation: Expectation, _ byte: UInt8) -> Expectation? {
        switch (expectation, byte) {
        case (.end, _):
            return nil
        case (.firstElement, UInt8(ascii: "]")), (.firstKey, UInt8(ascii: "}")):
            return close()
        case (.firstElement, _), (.value, _):
            return value(byte)
        case (.firstKey, UInt8(ascii: "\"")), (.key, UInt8(ascii: "\"")):
            guard string() else { return nil }
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return nil }
            position += 1
            return .value
        case (.separator, UInt8(ascii: ",")):
            position += 1
            return isInObject ? .key : .value
        case (.separator, UInt8(ascii: "}")):
            return isInObject ? close() : nil
        case (.separator, UInt8(ascii: "]")):
            return isInObject ? nil : close()
        default:
            return nil
        }
    }

    private var isInObject: Bool { open.last.map { tokens[$0].kind == .object } ?? false }

    private var afterValue: Expectation { open.isEmpty ? .end : .separator }

    private mutating func value(_ byte: UInt8) -> Expectation? {
        switch byte {
        case UInt8(ascii: "{"): return open(.object, then: .firstKey)
        case UInt8(ascii: "["): return open(.array, then: .firstElement)
        case UInt8(ascii: "\""): return string() ? afterValue : nil
        case UInt8(ascii: "t"): return literal("true", .yes) ? afterValue : nil
        case UInt8(ascii: "f"): return literal("false", .no) ? afterValue : nil
        case UInt8(ascii: "n"): return literal("null", .null) ? afterValue : nil
        default: return number() ? afterValue : nil
        }
    }

    private mutating func open(_ kind: Kind, then expectation: Expectation) -> Expectation {
        open.append(tokens.count)
        depth = max(depth, open.count)
        tokens.append(Token(kind: kind, next: 0))
        position += 1
        return expectation
    }

    private mutating func close() -> Expectation {
        tokens[open.removeLast()].next = tokens.count
        position += 1
        return afterValue
    }

    private mutating func literal(_ text: StaticString, _ kind: Kind) -> Bool {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count, isSame(UnsafeBufferPointer(rebasing: bytes[position..<end]), text) else {
            return false
        }
        tokens.append(Token(kind: kind, next: tokens.count + 1))
        position = end
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }
}

/// Memory at a fixed address.
final class Memory {
    let bytes: UnsafeMutableBufferPointer<UInt8>

    init(capacity: Int) { bytes = .allocate(capacity: capacity) }

    deinit { bytes.deallocate() }
}

// MARK: - Tokens

extension JSONReader {
    /// A member of an object, by its name.
    enum Member {
        case absent
        /// The number of the value's token.
        case value(Int)
        case repeated
    }

    /// The text of a string, or of a number as written.
    func text(_ index: Int) -> UnsafeBufferPointer<UInt8> {
        let token = tokens[index]
        let source = token.isUnescaped ? UnsafeBufferPointer(unescaped.bytes) : bytes
        return UnsafeBufferPointer(rebasing: source[token.start..<token.start + token.count])
    }

    func string(_ index: Int) -> UnsafeBufferPointer<UInt8>? {
        tokens[index].kind == .string ? text(index) : nil
    }

    func integer(_ index: Int) -> Int? {
        tokens[index].kind == .integer ? tokens[index].integer : nil
    }

    /// Calls `body` with the tokens of each name and its value, until it returns false.
    func forEachMember(of object: Int, _ body: (_ name: Int, _ value: Int) -> Bool) {
        var index = object + 1
        while index < tokens[object].next {
            guard body(index, index + 1) else { return }
            index = tokens[index + 1].next
        }
    }

    func member(_ name: StaticString, of object: Int = 0) -> Member {
        var found = Member.absent
        forEachMember(of: object) { key, value in
            guard isSame(text(key), name) else { return true }
            guard case .absent = found else {
                found = .repeated
                return false
            }
            found = .value(value)
            return true
        }
        return found
    }

    func value(_ name: StaticString, of object: Int = 0) -> Int? {
        guard case .value(let value) = member(name, of: object) else { return nil }
        return value
    }

    func memberCount(of object: Int = 0) -> Int {
        var count = 0
        forEachMember(of: object) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// The tokens of an array's elements.
    func elements(of array: Int) -> [Int] {
        var elements: [Int] = []
        var element = array + 1
        while element < tokens[array].next {
            elements.append(element)
            element = tokens[element].next
        }
        return elements
    }
}
