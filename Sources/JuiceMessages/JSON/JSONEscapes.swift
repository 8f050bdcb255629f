/// Unescapes a JSON string in place, which never makes it longer.
struct JSONEscapes {
    private let text: UnsafeMutableRawBufferPointer
    private var position = 0
    private var count = 0

    /// - Parameter text: the bytes between the quotes.
    /// - Returns: the unescaped text, which begins at the same address.
    static func remove(from text: UnsafeMutableRawBufferPointer) throws(JSONError) -> UnsafeMutableRawBufferPointer {
        var escapes = JSONEscapes(text: text)
        while escapes.position < text.count { try escapes.copyNext() }
        return UnsafeMutableRawBufferPointer(rebasing: text[..<escapes.count])
    }

    private init(text: UnsafeMutableRawBufferPointer) { self.text = text }

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
