// Numbers and strings. Each function begins at the first byte of its token.

extension JSONReader {
    mutating func number() -> Bool {
        let start = position
        var isInteger = true
        skip(UInt8(ascii: "-"))
        let isZero = position < bytes.count && bytes[position] == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, whole == 1 || !isZero else { return false }
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            guard digits() > 0 else { return false }
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard digits() > 0 else { return false }
        }
        let integer = isInteger ? Self.integer(UnsafeBufferPointer(rebasing: bytes[start..<position])) : nil
        var token = Token(kind: integer == nil ? .number : .integer, next: tokens.count + 1)
        (token.start, token.count, token.integer) = (start, position - start, integer ?? 0)
        tokens.append(token)
        return true
    }

    @discardableResult private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func digits() -> Int {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position - start
    }

    /// The value of decimal digits with an optional minus; nil if it does not fit.
    static func integer(_ text: some Collection<UInt8>) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard !digits.isEmpty else { return nil }
        var integer = 0
        for byte in digits {
            let digit = Int(byte) - Int(UInt8(ascii: "0"))
            guard (0...9).contains(digit) else { return nil }
            let (tens, overflow) = integer.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = tens.addingReportingOverflow(isNegative ? -digit : digit)
            guard !overflow, !overflows else { return nil }
            integer = sum
        }
        return integer
    }

    mutating func string() -> Bool {
        position += 1
        let start = position
        var escapedStart: Int?
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                var token = Token(kind: .string, next: tokens.count + 1)
                if let escapedStart {
                    token.isUnescaped = true
                    (token.start, token.count) = (escapedStart, unescapedEnd - escapedStart)
                } else {
                    (token.start, token.count) = (start, position - start)
                }
                tokens.append(token)
                position += 1
                return true
            case UInt8(ascii: "\\"):
                if escapedStart == nil {
                    escapedStart = unescapedEnd
                    for byte in bytes[start..<position] { append(byte) }
                }
                guard escape() else { return false }
            case 0x20..<0x80:
                if escapedStart != nil { append(byte) }
                position += 1
            default:
                let length = Unicode.wellFormedLength(bytes[position...])
                guard byte >= 0x80, length > 0 else { return false }
                if escapedStart != nil { for byte in bytes[position..<position + length] { append(byte) } }
                position += length
            }
        }
        return false
    }

    private mutating func append(_ byte: UInt8) {
        unescaped.bytes[unescapedEnd] = byte
        unescapedEnd += 1
    }

    private mutating func escape() -> Bool {
        position += 1
        guard position < bytes.count else { return false }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): append(byte)
        case UInt8(ascii: "b"): append(0x08)
        case UInt8(ascii: "f"): append(0x0C)
        case UInt8(ascii: "n"): append(0x0A)
        case UInt8(ascii: "r"): append(0x0D)
        case UInt8(ascii: "t"): append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = escapedScalar() else { return false }
            for byte in UTF8.encode(scalar) ?? .init() { append(byte) }
        default: return false
        }
        return true
    }

    /// The code point of a `\u` escape, or of the two that make a surrogate pair.
    private mutating func escapedScalar() -> Unicode.Scalar? {
        guard let first = hexadecimal() else { return nil }
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
        guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")), let second = hexadecimal(),
            0xDC00..<0xE000 ~= second
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func hexadecimal() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        position += 4
        return value
    }
}

extension Unicode {
    /// The length of the code point at the start of these bytes; 0 if there is none.
    fileprivate static func wellFormedLength(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        var parser = UTF8.ForwardParser()
        var iterator = bytes.prefix(4).makeIterator()
        guard case .valid(let scalar) = parser.parseScalar(from: &iterator) else { return 0 }
        return scalar.count
    }
}
