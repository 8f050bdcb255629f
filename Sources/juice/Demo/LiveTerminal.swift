import Foundation

/// The terminal's other screen, for as long as something live is shown on it.
struct LiveTerminal: ~Copyable {
    init() {
        StandardOutput.write(ANSI.enterAlternateScreen + ANSI.hideCursor + ANSI.clear)
    }

    deinit {
        StandardOutput.write(ANSI.showCursor + ANSI.leaveAlternateScreen)
    }

    /// Whether standard output is a terminal that can be drawn on.
    static var isPossible: Bool {
        StandardOutput.isTerminal && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// The terminal's present size; it changes with its window.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Draws over what was there, line by line and in one write, so that nothing flickers.
    func draw(_ lines: [String]) {
        let (columns, rows) = Self.size
        let shown = lines.prefix(rows).map { ANSI.clip($0, to: columns) + ANSI.clearToEndOfLine }
        StandardOutput.write(ANSI.home + shown.joined(separator: "\r\n") + ANSI.clearBelow)
    }
}
