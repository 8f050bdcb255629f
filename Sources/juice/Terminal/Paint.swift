import Foundation

/// Adds colours to text, if they are enabled.
struct Paint: Sendable {
    enum Colour: String, Sendable {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    let isEnabled: Bool

    static let none = Paint(isEnabled: false)

    /// With colours on a terminal, unless the environment disables them (https://no-color.org).
    static func forStandardOutput() -> Paint {
        Paint(isEnabled: StandardOutput.isTerminal && wantsColour(ProcessInfo.processInfo.environment))
    }

    static func wantsColour(_ environment: [String: String]) -> Bool {
        (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    func callAsFunction(_ colour: Colour?, _ text: String) -> String {
        guard isEnabled, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }
}
