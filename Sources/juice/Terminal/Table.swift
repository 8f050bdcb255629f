import Foundation

/// The number of columns that a text takes in a terminal.
///
/// Hangul, Han, Kana and emoji take two columns, combining marks none. Padding by the number of characters would misalign every
/// column after a Korean name.
enum DisplayWidth {
    /// The columns of a text without control characters.
    static func of(_ text: some StringProtocol) -> Int {
        text.utf8.allSatisfy { 0x20..<0x7F ~= $0 } ? text.utf8.count : text.reduce(0) { $0 + width(of: $1) }
    }

    /// The text, truncated with "…" if it takes more than `columns`.
    static func clip(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var clipped = text.prefix(columns)
        while of(clipped) > columns - 1 { clipped.removeLast() }
        return clipped + "…"
    }

    /// The text, padded with spaces to `columns`: on its right, or on its left to align it right.
    static func pad(_ text: String, to columns: Int, alignsRight: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - of(text)))
        return alignsRight ? spaces + text : text + spaces
    }

    private static func width(of character: Character) -> Int {
        // A character is as wide as its widest scalar: a decomposed Hangul syllable is one block, and an emoji sequence one
        // emoji.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        return character.unicodeScalars.reduce(0) { max($0, width(of: $1)) }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        let takesNone: [Unicode.GeneralCategory] = [.nonspacingMark, .enclosingMark, .format, .control]
        // The vowels and final consonants of a decomposed Hangul syllable take no columns of their own.
        if takesNone.contains(scalar.properties.generalCategory) || 0x1160...0x11FF ~= scalar.value { return 0 }
        return scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// The ranges besides emoji that Unicode's EastAsianWidth lists as wide or fullwidth, ignoring small gaps.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]
}

/// A text table with aligned columns, in any script.
struct Table {
    struct Cell {
        let text: String
        var colour: Paint.Colour?

        init(_ text: String, _ colour: Paint.Colour? = nil) { (self.text, self.colour) = (text.printable, colour) }
    }

    let titles: [String]
    let rows: [[Cell]]

    /// - Parameter rows: each with one cell per title.
    init(_ titles: [String], _ rows: [[Cell]]) { (self.titles, self.rows) = (titles, rows) }

    /// The maximum width of a column, so that a single long text does not push the others out of sight: its own line is longer.
    static let widest = 48

    /// A line with the titles and one per row, without trailing spaces. Columns of numbers are aligned right.
    func lines(paint: Paint) -> [String] {
        var columns = TableColumns(paint: paint, narrowest: 0)
        columns.numbers = titles.indices.filter { column in
            rows.allSatisfy { $0[column].text.allSatisfy { $0.isNumber || $0 == "–" } }
        }
        return columns.lines([titles.map { Cell($0, .faint) }] + rows)
    }

    func print() { StandardOutput.line(lines(paint: .forStandardOutput()).joined(separator: "\n")) }
}

/// Columns of a table that grow with their contents. A table may be written in parts: columns stay as wide as in earlier parts.
struct TableColumns {
    let paint: Paint
    let narrowest: Int
    var numbers: [Int] = []
    private var widths: [Int: Int] = [:]

    init(paint: Paint, narrowest: Int = 12) { (self.paint, self.narrowest) = (paint, narrowest) }

    /// A line for each row, up to its last cell that is not empty.
    mutating func lines(_ rows: [[Table.Cell]]) -> [String] {
        for row in rows {
            // The last cell of a line needs no width.
            for (column, cell) in row.enumerated() where column < row.count - 1 || numbers.contains(column) {
                widths[column] = max(widths[column] ?? narrowest, min(DisplayWidth.of(cell.text), Table.widest))
            }
        }
        return rows.map { row in
            let last = row.lastIndex { !$0.text.isEmpty } ?? 0
            return row.prefix(last + 1).enumerated().map { column, cell in
                let isNumber = numbers.contains(column)
                let width = column == last && !isNumber ? 0 : widths[column] ?? 0
                return paint(cell.colour, DisplayWidth.pad(cell.text, to: width, alignsRight: isNumber))
            }.joined(separator: "  ")
        }
    }
}
