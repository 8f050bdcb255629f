/// Checks in one pass that a text is one JSON document in UTF-8, and writes its tokens.
///
/// It does not recurse: the open objects and arrays are linked through their tokens.
struct JSONScanner {
    /// How many zeros must follow the text: the first ends every loop, and all together allow reads of eight bytes.
    static let padding = 16

    private var at: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer
    private let tokens: UnsafeMutablePointer<JSONToken>
    private let tokenCapacity: Int
    private var count = 0
    /// The token of the innermost open object or array, unless `depth` is 0.
    private var open = 0
    private var depth = 0
    private var isInObject = false

    /// The most tokens of a text. A token takes at least a byte, and any two of which neither contains the other have a
    /// separator between them.
    static func mostTokens(inBytes count: Int) -> Int { count / 2 + JSONReader.maximumDepth + 2 }

    /// - Parameters:
    ///   - text: the document, followed by ``padding``. Strings are unescaped in place.
    ///   - tokens: room for ``mostTokens(inBytes:)``.
    init(_ text: UnsafeMutableRawPointer, count: Int, tokens: UnsafeMutablePointer<JSONToken>) {
        at = text
        end = text + count
        self.tokens = tokens
        tokenCapacity = Self.mostTokens(inBytes: count)
    }

    /// Writes the tokens of the document, the first of which is the root.
    ///
    /// This and all that every document needs is inlined, which keeps the state in registers.
    @inline(__always)
    mutating func scan() throws(JSONError) {
        if BorrowedText("\u{FEFF}").bytes.hasSameBytes(as: UnsafeRawBufferPointer(start: at, count: 3)) {
            at += 3
        }
        repeat {
            while try !value() {}
        } while try isFollowed()
        skipSpace()
        guard at == end else { throw .notJSON }
    }

    /// Reads a value, and in an object its key. Of an object or array that is not empty it reads only the beginning.
    ///
    /// - Returns: whether the value is complete.
    @inline(__always)
    private mutating func value() throws(JSONError) -> Bool {
        if isInObject { try key() }
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return try begin(.object, closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["): return try begin(.array, closing: UInt8(ascii: "]"))
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true", .true)
        case UInt8(ascii: "f"): try literal("false", .false)
        case UInt8(ascii: "n"): try literal("null", .null)
        default: try number()
        }
        return true
    }

    @inline(__always)
    private mutating func begin(_ kind: JSONToken.Kind, closing: UInt8) throws(JSONError) -> Bool {
        guard depth < JSONReader.maximumDepth else { throw .tooDeep }
        at += 1
        let index = count
        try append(JSONToken(kind: kind, size: UInt32(truncatingIfNeeded: open)))
        skipSpace()
        if byte == closing {
            at += 1
            tokens[index].size = 1
            return true
        }
        open = index
        depth += 1
        isInObject = kind == .object
        return false
    }

    /// Closes all objects and arrays that end here.
    ///
    /// - Returns: whether another value follows, in one that stays open.
    @inline(__always)
    private mutating func isFollowed() throws(JSONError) -> Bool {
        while depth > 0 {
            skipSpace()
            let next = byte
            at += 1
            if next == UInt8(ascii: ",") { return true }
            guard next == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw .notJSON }
            let around = Int(tokens[open].size)
            tokens[open].size = UInt32(truncatingIfNeeded: count - open)
            open = around
            depth -= 1
            isInObject = depth > 0 && tokens[open].kind == .object
        }
        return false
    }

    @inline(__always)
    private mutating func key() throws(JSONError) {
        skipSpace()
        guard byte == UInt8(ascii: "\"") else { throw .notJSON }
        try string()
        skipSpace()
        guard byte == UInt8(ascii: ":") else { throw .notJSON }
        at += 1
    }
}

// MARK: - Scalars

extension JSONScanner {
    @inline(__always)
    private mutating func literal(_ text: StaticString, _ kind: JSONToken.Kind) throws(JSONError) {
        let text = BorrowedText(text).bytes
        guard text.hasSameBytes(as: UnsafeRawBufferPointer(start: at, count: text.count)) else { throw .notJSON }
        at += text.count
        try append(JSONToken(kind: kind))
    }

    @inline(__always)
    private mutating func number() throws(JSONError) {
        let sign = byte == UInt8(ascii: "-") ? -1 : 1
        if sign < 0 { at += 1 }
        let first = byte
        var (integer, isInteger, digits) = (0, true, 0)
        while let digit {
            let (tens, isTooLarge) = integer.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(sign * digit)
            integer = sum
            isInteger = isInteger && !isTooLarge && !isLarger
            digits += 1
            at += 1
        }
        guard digits == 1 || digits > 1 && first != UInt8(ascii: "0") else { throw .notJSON }
        if byte == UInt8(ascii: ".") {
            isInteger = false
            at += 1
            try skipDigits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isInteger = false
            at += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { at += 1 }
            try skipDigits()
        }
        let kind: JSONToken.Kind = isInteger ? .integer : .number
        try append(JSONToken(kind: kind, integer: isInteger ? integer : 0))
    }

    @inline(__always)
    private mutating func skipDigits() throws(JSONError) {
        guard digit != nil else { throw .notJSON }
        while digit != nil { at += 1 }
    }

    @inline(__always)
    private mutating func string() throws(JSONError) {
        at += 1
        let start = at
        var (isASCII, hasEscapes) = (true, false)
        reading: while true {
            let plain = TextWord(at).plainCount
            at += plain
            if plain == TextWord.size { continue }
            switch byte {
            case UInt8(ascii: "\""): break reading
            case UInt8(ascii: "\\"):
                hasEscapes = true
                at += 2
            case 0x80...:
                isASCII = false
                at += 1
            default: throw .notJSON
            }
        }
        var text = UnsafeMutableRawBufferPointer(start: start, count: at - start)
        at += 1
        if hasEscapes { text = try JSONEscapes.remove(from: text) }
        guard isASCII || UnsafeRawBufferPointer(text).isUTF8 else { throw .notJSON }
        let length = UInt32(truncatingIfNeeded: text.count)
        try append(JSONToken(kind: .string, count: length, text: UnsafeRawPointer(start)))
    }
}

// MARK: - Bytes

extension JSONScanner {
    private var byte: UInt8 { at.load(as: UInt8.self) }

    private var digit: Int? {
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? Int(digit) : nil
    }

    @inline(__always)
    private mutating func skipSpace() {
        while byte <= UInt8(ascii: " "), Self.isSpace(byte) { at += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\t")
    }

    @inline(__always)
    private mutating func append(_ token: JSONToken) throws(JSONError) {
        // The room always suffices, but if that were wrong, this prevents a write beyond it.
        guard count < tokenCapacity else { throw .notJSON }
        (tokens + count).initialize(to: token)
        count += 1
    }
}
