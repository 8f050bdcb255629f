/// The rules of Prometheus' text format, version 0.0.4.
enum TextFormat {
    /// Appends one sample.
    static func write(_ name: String, _ labels: String, _ value: String, to text: inout String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    /// The labels in order of name, as they stand between braces.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { (labelName($0), escaped($1, quotes: true)) }
            .sorted { $0.0 < $1.0 }
            .map { "\($0)=\"\($1)\"" }
            .joined(separator: ",")
    }

    /// A metric's name: letters, digits, `_` and `:`, not beginning with a digit.
    static func name(_ text: String) -> String { sanitized(text, also: ":") }

    /// A label's name: likewise, but without `:`.
    private static func labelName(_ text: String) -> String { sanitized(text, also: "_") }

    private static func sanitized(_ text: String, also extra: Unicode.Scalar) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_", extra: result.unicodeScalars.append(scalar)
            case "0"..."9":
                if result.isEmpty { result = "_" }
                result.unicodeScalars.append(scalar)
            default: result += "_"
            }
        }
        return result.isEmpty ? "_" : result
    }

    /// Text in which nothing ends its line, or its quotes, before its time.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }
}
