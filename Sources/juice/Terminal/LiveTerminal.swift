import Foundation
import Synchronization

/// The terminal's alternate screen, for as long as this value exists.
struct LiveTerminal: ~Copyable {
    init() { StandardOutput.write(ANSI.enterAlternateScreen + ANSI.hideCursor + ANSI.clear) }

    deinit { StandardOutput.write(ANSI.showCursor + ANSI.leaveAlternateScreen) }

    /// Whether standard output is a terminal that supports control sequences.
    static var isPossible: Bool {
        StandardOutput.isTerminal && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// How wide a line on standard output may be; nil if it is no terminal.
    static var columns: Int? { StandardOutput.isTerminal ? size.columns : nil }

    /// The terminal's current size; 80 × 24 if unknown.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Replaces the screen's contents with one write and without clearing it first, to avoid flicker.
    func draw(_ lines: [String]) {
        let (columns, rows) = Self.size
        let shown = lines.prefix(rows).map { ANSI.clip($0, to: columns) + ANSI.clearToEndOfLine }
        StandardOutput.write(ANSI.home + shown.joined(separator: "\r\n") + ANSI.clearBelow)
    }
}

/// Holds back log lines, at most the last 100, while the terminal shows the live view.
final class HeldLines: Sendable {
    private let lines = Mutex<[String]>([])
    private static let most = 100

    @Sendable func hold(_ line: String) {
        lines.withLock { lines in
            if lines.count == Self.most { lines.removeFirst() }
            lines.append(line)
        }
    }

    /// Writes the held lines to standard error.
    func release() {
        let held = lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
        if !held.isEmpty { StandardError.write(held.joined(separator: "\n") + "\n") }
    }
}

/// Shows progress on standard error while it is a terminal.
final class ProgressBar: Sendable {
    private struct Drawing {
        var isShown = false
        var last = ContinuousClock.now - .seconds(1)
    }

    private static let columns = 30
    private let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    private let drawing = Mutex(Drawing())

    /// Draws the bar with the current step.
    func show(_ step: String, _ done: Int, of total: Int) {
        guard isTerminal else { return }
        drawing.withLock { drawing in
            guard ContinuousClock.now - drawing.last > .milliseconds(100) else { return }
            drawing = Drawing(isShown: true, last: .now)
            StandardError.write("\r" + Self.line(step, done, of: total) + ANSI.clearToEndOfLine)
        }
    }

    /// Removes the bar.
    func clear() {
        drawing.withLock { drawing in
            if drawing.isShown { StandardError.write("\r" + ANSI.clearToEndOfLine) }
            drawing.isShown = false
        }
    }

    static func line(_ step: String, _ done: Int, of total: Int) -> String {
        let bar = DisplayWidth.pad(Bar.text(done, full: total, columns: columns), to: columns)
        return "\(step)  \(bar)  \(total > 0 ? min(100, done * 100 / total) : 100)%"
    }
}

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

    /// A line with colours, truncated to a number of columns, with "…" at the end if anything is missing.
    static func clip(_ line: String, to columns: Int) -> String {
        let pieces = pieces(of: line)
        guard pieces.reduce(0, { $0 + $1.width }) > columns else { return line }
        var clipped = ""
        var room = columns - 1
        for (character, width) in pieces {
            room -= width
            guard room >= 0 else { break }
            clipped.append(character)
        }
        return clipped + "…\u{1B}[0m"
    }

    /// The characters of a line and their columns: none for those of a sequence.
    private static func pieces(of line: String) -> [(Character, width: Int)] {
        var isSequence = false
        return line.map { character in
            if character == "\u{1B}" { isSequence = true }
            guard isSequence else { return (character, DisplayWidth.of(String(character))) }
            if character.isLetter { isSequence = false }
            return (character, 0)
        }
    }
}
