import Foundation
import Synchronization

/// The terminal's alternate screen, for as long as this value exists.
struct LiveTerminal: ~Copyable {
    init() { StandardOutput.write(ANSI.enterAlternateScreen + ANSI.hideCursor + ANSI.clipLines + ANSI.clear) }

    deinit { StandardOutput.write(ANSI.wrapLines + ANSI.showCursor + ANSI.leaveAlternateScreen) }

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
        let shown = lines.prefix(Self.size.rows).map { $0 + ANSI.clearToEndOfLine }
        StandardOutput.write(ANSI.home + shown.joined(separator: "\r\n") + ANSI.clearBelow)
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
    /// What the terminal does with lines that are wider than it: DECAWM.
    static let clipLines = "\u{1B}[?7l"
    static let wrapLines = "\u{1B}[?7h"
    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"
}
