import Foundation
import Synchronization

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
