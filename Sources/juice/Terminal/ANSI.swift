/// Terminal control sequences.
enum ANSI {
    /// Clears the screen and moves the cursor to the top left.
    static let clear = "\u{1B}[2J\u{1B}[H"
    static let home = "\u{1B}[H"
    static let clearToEndOfLine = "\u{1B}[K"
    static let clearBelow = "\u{1B}[J"
    static let enterAlternateScreen = "\u{1B}[?1049h"
    static let leaveAlternateScreen = "\u{1B}[?1049l"
    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"
}

extension ANSI {
    /// A line with colours, truncated to a number of columns.
    static func clip(_ line: String, to columns: Int) -> String {
        var clipped = ""
        var used = 0
        var isSequence = false
        for character in line {
            if character == "\u{1B}" { isSequence = true }
            if isSequence {
                clipped.append(character)
                if character.isLetter { isSequence = false }
                continue
            }
            let width = DisplayWidth.of(String(character))
            if used + width > columns { return clipped + "\u{1B}[0m" }
            clipped.append(character)
            used += width
        }
        return clipped
    }
}
