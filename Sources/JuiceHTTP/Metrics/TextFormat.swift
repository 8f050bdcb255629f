/// The rules of Prometheus' text format, version 0.0.4.
enum TextFormat {
    /// Appends one sample.
    static func write(_ name: String, _ labels: String, _ value: String, to text: inout String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    /// The labels sorted by name, formatted as between braces.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { (labelName($0), escaped($1, in: .labelValue)) }
            .sorted { $0.0 < $1.0 }
            .map { "\($0)=\"\($1)\"" }
            .joined(separator: ",")
    }

    /// A valid metric name: letters, digits, `_` and `:`, not starting with a digit.
    static func name(_ text: String) -> String { sanitized(text, also: ":") }

    /// A valid label name: like a metric name, but without `:`.
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

    /// Where a text is written: only label values are quoted.
    enum Place { case help, labelValue }

    /// Escapes line ends and backslashes, and in label values also quotes.
    static func escaped(_ text: String, in place: Place) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where place == .labelValue: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// A sample value.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }
}
