import Foundation
import JuiceMessages

/// The number of columns that a text takes in a terminal.
///
/// Hangul, Han, Kana and emoji take two columns, combining marks none. Padding by the number of characters would misalign every
/// column after a Korean name.
enum DisplayWidth {
    /// The columns of a text without control characters.
    static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + width(of: $1) } }

    /// The text, truncated with "…" if it takes more than `columns`.
    static func clip(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var clipped = ""
        var used = 0
        for character in text {
            let width = width(of: character)
            if used + width > columns - 1 { break }
            clipped.append(character)
            used += width
        }
        return clipped + "…"
    }

    /// The side of the padding that text is on.
    enum Alignment {
        case left
        case right
    }

    /// The text, padded with spaces to `columns`.
    static func pad(_ text: String, to columns: Int, _ alignment: Alignment = .left) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - of(text)))
        switch alignment {
        case .left: return text + spaces
        case .right: return spaces + text
        }
    }

    private static func width(of character: Character) -> Int {
        // A character is as wide as its widest scalar: a decomposed Hangul syllable is one block, and an emoji sequence one
        // emoji.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        return character.unicodeScalars.reduce(0) { max($0, width(of: $1)) }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        // The vowels and final consonants of a decomposed Hangul syllable take no columns of their own.
        if (0x1160...0x11FF).contains(scalar.value) { return 0 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// The ranges that Unicode's EastAsianWidth lists as wide or fullwidth, ignoring small gaps.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x23E9...0x23EC, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
        0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
        0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
    ]
}

/// A text table with aligned columns, in any script.
struct Table {
    struct Column {
        let title: String
        var alignment = DisplayWidth.Alignment.left
        /// The minimum width.
        var width = 0
    }

    struct Cell {
        let text: String
        var colour: Paint.Colour?

        init(_ text: String, _ colour: Paint.Colour? = nil) {
            self.text = text
            self.colour = colour
        }
    }

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// A line with the titles and one per row, without trailing spaces.
    func lines(paint: Paint) -> [String] {
        let rows = [columns.map { Cell($0.title, .faint) }] + rows
        let widths = columns.indices.map { column in
            rows.reduce(columns[column].width) { widest, row in
                column < row.count ? max(widest, DisplayWidth.of(row[column].text)) : widest
            }
        }
        return rows.map { row in
            let last = row.lastIndex { !$0.text.isEmpty } ?? 0
            return row.indices.prefix(last + 1).map { column in
                let isLast = column == last && columns[column].alignment == .left
                let text = DisplayWidth.pad(row[column].text, to: isLast ? 0 : widths[column], columns[column].alignment)
                return paint(row[column].colour, text)
            }.joined(separator: "  ")
        }
    }
}

extension Table {
    /// A table of these rows. Columns of numbers are aligned right.
    init(_ titles: [String], _ rows: [[Cell]]) {
        let columns = titles.indices.map { column in
            let isNumeric = rows.allSatisfy { $0[column].text.allSatisfy { $0.isNumber || $0 == "–" } }
            return Column(title: titles[column], alignment: isNumeric ? .right : .left)
        }
        self.init(columns)
        rows.forEach { add($0) }
    }
}

/// A horizontal bar with a resolution of an eighth of a column.
enum Bar {
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// A bar for `value` that has the width `columns` at `full`.
    ///
    /// Any value above zero is visible, so an empty bar means that nothing is left.
    static func text(_ value: Int, full: Int, columns: Int) -> String {
        guard value > 0, full > 0, columns > 0 else { return "" }
        let share = min(1, Double(value) / Double(full))
        let units = max(1, Int((share * Double(columns) * 8).rounded()))
        var bar = String(repeating: "█", count: units / 8)
        if units % 8 > 0 { bar.append(eighths[units % 8 - 1]) }
        return bar
    }
}

/// Adds colours to text, if they are enabled.
struct Paint: Sendable {
    enum Colour: String, Sendable {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    let isEnabled: Bool

    /// Without colours.
    static let none = Paint(isEnabled: false)

    /// With colours on a terminal, unless the environment disables them (https://no-color.org).
    static func forStandardOutput(environment: [String: String] = ProcessInfo.processInfo.environment) -> Paint {
        Paint(isEnabled: StandardOutput.isTerminal && wantsColour(environment))
    }

    static func wantsColour(_ environment: [String: String]) -> Bool {
        (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    func callAsFunction(_ colour: Colour?, _ text: String) -> String {
        guard isEnabled, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }
}

/// Formats an answer as one line.
enum AnswerLine {
    /// `2026-01-31 12:34:56  gangnam       made          pos-1             juice made: kiwi juice`.
    static func text(_ answer: Answer, time: String?, paint: Paint) -> String {
        let message = answer.message.printable + (answer.isDuplicate ? "  (repeated)" : "")
        return text(
            time: time, answer.store, outcome(answer), DisplayWidth.pad(answer.id.printable, to: 16) + "  " + message, paint: paint)
    }

    /// The same with anything else that became known of a store.
    static func text(
        time: String?, _ store: String, _ outcome: (word: String, colour: Paint.Colour), _ rest: String, paint: Paint
    ) -> String {
        let columns = [
            time.map { paint(.faint, $0) }, DisplayWidth.pad(StoreID.visible(store), to: 12),
            paint(outcome.colour, DisplayWidth.pad(outcome.word, to: 12)), rest,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    /// Prints answers, one per line, with one write.
    static func write(_ answers: [Answer]) {
        guard !answers.isEmpty else { return }
        StandardOutput.write(answers.map { text($0, time: nil, paint: .none) + "\n" }.joined())
    }

    static func outcome(_ answer: Answer) -> (word: String, colour: Paint.Colour) {
        switch answer.outcome {
        case .juiceMade: ("made", .green)
        case .outOfStock: ("out of stock", .yellow)
        case .restocked: ("restocked", .cyan)
        case .cancelled: ("cancelled", .cyan)
        case .rejected: ("rejected", .red)
        case .answerLost: ("answer lost", .yellow)
        }
    }
}
