import Foundation
import JuiceBench
import Synchronization

/// Shows progress on standard error: a bar on a terminal, otherwise a line for each finished step.
final class ProgressBar: Sendable {
    private struct Drawing {
        var isShown = false
        var last = ContinuousClock.now - .seconds(1)
    }

    private static let columns = 30
    private let isTerminal: Bool
    private let isQuiet: Bool
    private let drawing = Mutex(Drawing())

    /// - Parameters:
    ///   - isTerminal: whether standard error is a terminal; nil detects it.
    ///   - isQuiet: whether to omit the lines for finished steps.
    init(isTerminal: Bool? = nil, isQuiet: Bool = false) {
        self.isQuiet = isQuiet
        self.isTerminal = isTerminal ?? (isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb")
    }

    func show(_ progress: BenchProgress) {
        switch progress {
        case .step(let step, let done, let total): show(step, done, of: total)
        case .finished(let step): finish(step)
        case .warning(let text):
            clear()
            StandardError.write("juice: \(text)\n")
        }
    }

    /// Draws the bar with the current step.
    private func show(_ step: String, _ done: Int, of total: Int) {
        guard isTerminal else { return }
        drawing.withLock { drawing in
            guard ContinuousClock.now - drawing.last > .milliseconds(100) else { return }
            drawing = Drawing(isShown: true, last: .now)
            StandardError.write("\r" + Self.line(step, done, of: total) + ANSI.clearToEndOfLine)
        }
    }

    /// Prints a line for a finished step.
    private func finish(_ step: String) {
        clear()
        if !isQuiet { StandardError.write("\(step)\n") }
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
