import CProcessor

/// Why a text could not be read as JSON.
enum JSONError: Error, Hashable {
    case notJSON
    case tooDeep
    case tooLong
}

/// Reads one JSON document (RFC 8259) at a time, and reuses its memory for the next. Skips a byte order mark in front of it.
final class JSONReader {
    static let maximumDepth = 128
    static let maximumLength = 1 << 30

    private var capacity: Int
    private var text: UnsafeMutableRawPointer
    private var tokens: UnsafeMutablePointer<JSONToken>

    /// A reader with room for documents of up to `capacity` bytes. It grows for longer ones.
    init(capacity: Int) {
        self.capacity = capacity
        (text, tokens) = Self.allocate(capacity)
    }

    deinit { deallocate() }

    /// The root of the document in these bytes, which are copied. It is valid until the next call.
    func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        if bytes.count > capacity { grow(to: bytes.count) }
        let (text, tokens) = (text, tokens)
        // Zeros, which no document has, separate it from the rest of a longer document before it.
        UnsafeMutableRawBufferPointer(start: text, count: bytes.count).copyMemory(from: bytes)
        (text + bytes.count).initializeMemory(as: UInt8.self, repeating: 0, count: JSONScanner.padding)
        var scanner = JSONScanner(text, count: bytes.count, tokens: tokens)
        try scanner.scan()
        return JSONValue(tokens)
    }

    // Doubled, so that ever longer documents cost few reallocations.
    private func grow(to count: Int) {
        deallocate()
        capacity = max(count, capacity * 2)
        (text, tokens) = Self.allocate(capacity)
    }

    private static func allocate(_ capacity: Int) -> (UnsafeMutableRawPointer, UnsafeMutablePointer<JSONToken>) {
        let text = UnsafeMutableRawPointer.allocate(byteCount: capacity + JSONScanner.padding, alignment: 8)
        return (text, .allocate(capacity: JSONScanner.mostTokens(inBytes: capacity)))
    }

    private func deallocate() {
        text.deallocate()
        tokens.deallocate()
    }
}

/// One value of a document, or one key of an object. Tokens are in document order: an object is followed by its members, each
/// a string (the key) and then the value, and an array by its elements.
struct JSONToken {
    enum Kind: UInt8 {
        case object
        case array
        case string
        /// A number written as an integer that fits 64 signed bits.
        case integer
        /// Any other number that JSON allows: with a fraction or an exponent, or beyond 64 bits.
        case number
        case `true`
        case `false`
        case null
    }

    let kind: Kind
    /// The number of tokens of this value and its descendants. While an object or array is open: the place of its parent.
    var size: UInt32 = 1
    /// Of a string: its length in bytes, unescaped.
    var count: UInt32 = 0
    /// Of a string: its bytes.
    var text: UnsafeRawPointer?
    var integer = 0
}

/// Checks in one pass that a text is one JSON document in UTF-8, and writes its tokens.
///
/// It does not recurse: the open objects and arrays are linked through their tokens.
struct JSONScanner {
    /// How many zeros must follow the text: the first ends every loop, and together they allow a read of sixteen bytes after a
    /// final backslash.
    static let padding = 32

    private var at: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer
    private let tokens: UnsafeMutablePointer<JSONToken>
    private let tokenCapacity: Int
    private var count = 0
    /// The token of the innermost open object or array, unless `depth` is 0.
    private var open = 0
    private var depth = 0
    private var isInObject = false

    /// The most tokens that a text can have. A token takes at least a byte, and two tokens have a separator between them unless one
    /// contains the other.
    static func mostTokens(inBytes count: Int) -> Int { count / 2 + JSONReader.maximumDepth + 2 }

    /// A scanner of a text that ``padding`` follows. It unescapes strings in place. `tokens` must have room for the most tokens.
    init(_ text: UnsafeMutableRawPointer, count: Int, tokens: UnsafeMutablePointer<JSONToken>) {
        at = text
        end = text + count
        self.tokens = tokens
        tokenCapacity = Self.mostTokens(inBytes: count)
    }

    /// Writes the tokens of the document, the first of which is the root.
    // Inlined, like everything that every document needs, to keep the state in registers.
    @inline(__always)
    mutating func scan() throws(JSONError) {
        if BorrowedText("\u{FEFF}").bytes.hasSameBytes(as: UnsafeRawBufferPointer(start: at, count: 3)) {
            at += 3
        }
        repeat {
            while !plainMembers() { if try value() { break } }
        } while try isFollowed()
        skipSpace()
        guard at == end else { throw .notJSON }
    }

    /// Reads members of an object for as long as they have the most common form: a name of fewer than 16 plain bytes, and a plain
    /// text of fewer than 32 or a number of fewer than 16 digits, without spaces. False if another kind of member follows.
    @inline(__always)
    private mutating func plainMembers() -> Bool {
        guard isInObject else { return false }
        let quote = UInt8(ascii: "\"")
        var (at, count) = (at, count)
        defer { (self.at, self.count) = (at, count) }
        while at.load(as: UInt8.self) == quote, count + 2 <= tokenCapacity {
            let name = Int(plain_count(at + 1))
            guard name < 16, at.loadUnaligned(fromByteOffset: name + 1, as: UInt16.self) == Self.endOfName else { break }
            let value = at + (name + 3)
            let token: JSONToken
            var end = value + 1
            let first = value.load(as: UInt8.self)
            if first == quote {
                var length = Int(plain_count(value + 1))
                if length == 16 { length += Int(plain_count(value + 17)) }
                end += length
                guard end.load(as: UInt8.self) == quote else { break }
                end += 1
                token = JSONToken(kind: .string, count: UInt32(truncatingIfNeeded: length), text: UnsafeRawPointer(value + 1))
            } else {
                guard UInt8(ascii: "1")...UInt8(ascii: "9") ~= first else { break }
                var number = Int(first &- UInt8(ascii: "0"))
                while let digit = Self.digit(end.load(as: UInt8.self)), end - value < 15 {
                    number = number &* 10 &+ digit
                    end += 1
                }
                // Else it is another kind of number, or there is a space.
                let next = end.load(as: UInt8.self)
                guard next == UInt8(ascii: ",") || next == UInt8(ascii: "}") else { break }
                token = JSONToken(kind: .integer, integer: number)
            }
            let key = JSONToken(kind: .string, count: UInt32(truncatingIfNeeded: name), text: UnsafeRawPointer(at + 1))
            (tokens + count).initialize(to: key)
            (tokens + (count + 1)).initialize(to: token)
            count += 2
            at = end
            guard at.load(as: UInt8.self) == UInt8(ascii: ",") else { return true }
            at += 1
        }
        return false
    }

    private static var endOfName: UInt16 { UInt16(littleEndian: 0x3A22) }

    /// Reads a value, and in an object its key; false if it read only the beginning of an object or array that is not empty.
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

    /// Closes all objects and arrays that end here; true if another value follows in one that stays open.
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
        try append(JSONToken(kind: isInteger ? .integer : .number, integer: isInteger ? integer : 0))
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
            let plain = Int(plain_count(at))
            at += plain
            if plain == 16 { continue }
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
        try append(JSONToken(kind: .string, count: UInt32(truncatingIfNeeded: text.count), text: UnsafeRawPointer(start)))
    }
}

// MARK: - Bytes

extension JSONScanner {
    private var byte: UInt8 { at.load(as: UInt8.self) }

    private var digit: Int? { Self.digit(byte) }

    private static func digit(_ byte: UInt8) -> Int? {
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? Int(digit) : nil
    }

    @inline(__always)
    private mutating func skipSpace() {
        while byte <= UInt8(ascii: " "), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    @inline(__always)
    private mutating func append(_ token: JSONToken) throws(JSONError) {
        // The room always suffices, but if that were wrong, this prevents a write beyond it.
        guard count < tokenCapacity else { throw .notJSON }
        (tokens + count).initialize(to: token)
        count += 1
    }
}

/// Unescapes a JSON string in place, which never makes it longer.
struct JSONEscapes {
    private let text: UnsafeMutableRawBufferPointer
    private var position = 0
    private var count = 0

    /// Removes the escapes from the bytes between the quotes. The result has the same address.
    static func remove(from text: UnsafeMutableRawBufferPointer) throws(JSONError) -> UnsafeMutableRawBufferPointer {
        var escapes = JSONEscapes(text: text)
        while escapes.position < text.count { try escapes.copyNext() }
        return UnsafeMutableRawBufferPointer(rebasing: text[..<escapes.count])
    }

    private mutating func copyNext() throws(JSONError) {
        let byte = try read()
        guard byte == UInt8(ascii: "\\") else { return write(byte) }
        switch try read() {
        case let byte where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"): write(byte)
        case UInt8(ascii: "b"): write(0x08)
        case UInt8(ascii: "f"): write(0x0C)
        case UInt8(ascii: "n"): write(UInt8(ascii: "\n"))
        case UInt8(ascii: "r"): write(UInt8(ascii: "\r"))
        case UInt8(ascii: "t"): write(UInt8(ascii: "\t"))
        case UInt8(ascii: "u"):
            for byte in UTF8.encode(try scalar()) ?? UTF8.encodedReplacementCharacter { write(byte) }
        default: throw .notJSON
        }
    }

    /// The scalar of one UTF-16 unit or, beyond U+FFFF, of two. The first `\u` has been read.
    private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), try read() == UInt8(ascii: "\\"), try read() == UInt8(ascii: "u") else {
            throw .notJSON
        }
        let second = try unit()
        guard UTF16.isTrailSurrogate(second) else { throw .notJSON }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    /// A number of four hexadecimal digits.
    private mutating func unit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try read())).hexDigitValue else { throw .notJSON }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private mutating func read() throws(JSONError) -> UInt8 {
        guard position < text.count else { throw .notJSON }
        defer { position += 1 }
        return text[position]
    }

    private mutating func write(_ byte: UInt8) {
        text[count] = byte
        count += 1
    }
}
