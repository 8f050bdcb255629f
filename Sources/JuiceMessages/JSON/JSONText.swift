/// A JSON literal. Interpolated values are written as JSON, texts with quotes and escapes.
///
/// For rare use, since it allocates. Answers are written by an ``AnswerEncoder``.
struct JSONText: ExpressibleByStringInterpolation {
    let bytes: [UInt8]

    init(stringLiteral literal: String) { bytes = Array(literal.utf8) }

    init(stringInterpolation: StringInterpolation) { bytes = stringInterpolation.bytes }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var bytes: [UInt8] = []

        init(literalCapacity: Int, interpolationCount: Int) { bytes.reserveCapacity(literalCapacity + interpolationCount * 16) }

        mutating func appendLiteral(_ literal: String) { bytes += literal.utf8 }

        mutating func appendInterpolation(_ number: some BinaryInteger) { bytes += String(number).utf8 }

        mutating func appendInterpolation(_ text: String) {
            bytes.append(UInt8(ascii: "\""))
            appendInterpolation(escaped: text)
            bytes.append(UInt8(ascii: "\""))
        }

        /// A text with escapes, but without quotes.
        mutating func appendInterpolation(escaped text: String) {
            BorrowedText.withText(text) { text in
                if text.bytes.isPlain { return bytes.append(contentsOf: text.bytes) }
                var buffer = OutputBuffer(capacity: text.bytes.count)
                buffer.append(escaped: text)
                bytes += buffer.bytes
            }
        }

        /// Elements of an array, or members of an object.
        mutating func appendInterpolation(_ parts: [JSONText], separator: String = ",") {
            for index in parts.indices {
                if index > 0 { appendLiteral(separator) }
                bytes += parts[index].bytes
            }
        }
    }
}

extension OutputBuffer {
    mutating func append(json: JSONText) { json.bytes.withUnsafeBytes { append($0) } }
}
