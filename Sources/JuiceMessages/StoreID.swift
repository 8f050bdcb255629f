/// The id of a store, which is the key of every record about it: 1 to 128 bytes of UTF-8.
public enum StoreID {
    /// The store of records without a key.
    public static let main = "main"

    /// The longest id, in bytes.
    public static let maximumLength = 128

    /// The id in a record's key, valid as long as the key: ``main`` if there is no key or an empty one, `nil` if the key is
    /// too long or not UTF-8.
    public static func read(key: UnsafeRawBufferPointer?) -> BorrowedText? {
        guard let key, !key.isEmpty else { return BorrowedText("main") }
        guard key.count <= maximumLength, key.isUTF8 else { return nil }
        return BorrowedText(key)
    }

    // MARK: - For people

    /// The id for display. It is a JSON string with escapes if it has anything invisible, such as a space at its end, or anything
    /// that could also be written as one character, such as decomposed Hangul.
    package static func visible(_ id: String) -> String {
        let isPlain = !id.unicodeScalars.contains(where: \.isHidden) && id.first != "\"" && id.first != " " && id.last != " "
        return isPlain && !id.isEmpty ? id : quoted(id)
    }

    /// The same in quotes, whether or not the id needs them.
    static func quoted(_ id: String) -> String {
        id.unicodeScalars.reduce(into: "\"") { text, scalar in
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.isHidden: text += scalar.escape
            default: text.unicodeScalars.append(scalar)
            }
        } + "\""
    }

    /// The visible part of an id, in lower case, and without the quotes that a JSON serializer adds to a key. Ids look alike if
    /// their looks are equal, as `String` compares them.
    package static func look(of id: String) -> String {
        let isQuoted = id.count > 2 && id.first == "\"" && id.last == "\""
        let id = (isQuoted ? String(id.dropFirst().dropLast()) : id).lowercased()
        if id.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }) { return id }
        let words = id.unicodeScalars.filter { $0.properties.isWhitespace || !$0.isInvisible }.split(
            whereSeparator: \.properties.isWhitespace)
        return words.map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
    }

    /// The groups of ids that look alike.
    package static func alike(_ ids: some Sequence<String>) -> [[String]] {
        Dictionary(grouping: ids, by: look).values.filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }
}

extension Unicode.Scalar {
    /// Its escape in JSON, such as `\u200b`.
    package var escape: String {
        String(self).utf16.reduce(into: "") { $0 += "\\u" + String(UInt32($1) + 0x10000, radix: 16).dropFirst() }
    }

    /// Whether it has no width, looks like a space, or controls a terminal.
    package var isInvisible: Bool {
        guard value > 0x7E else { return value < 0x20 }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: true
        case .spaceSeparator: self != " "
        default: properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether it is invisible, or part of a character that also exists precomposed: a Latin accent, a letter of a Hangul syllable.
    fileprivate var isHidden: Bool {
        isInvisible || (0x0300...0x036F).contains(value) || (0x1100...0x11FF).contains(value)
    }
}
