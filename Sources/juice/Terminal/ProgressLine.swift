import Foundation
import Synchronization

/// Shows progress on standard error if it is a terminal.
final class ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    /// When it was last drawn; nil while it is not shown.
    private let drawnAt = Mutex<ContinuousClock.Instant?>(nil)

    private static let clearToEndOfLine = "\u{1B}[K"

    /// Shows the current step and how much of it is done, at most ten times a second.
    func show(_ step: String, _ done: Int, of total: Int) {
        guard isTerminal else { return }
        drawnAt.withLock { drawnAt in
            if let last = drawnAt, .now - last < .milliseconds(100) { return }
            drawnAt = .now
            StandardError.write("\r\(step)  \(total > 0 ? min(100, done * 100 / total) : 100)%\(Self.clearToEndOfLine)")
        }
    }

    func clear() {
        drawnAt.withLock { drawnAt in
            if drawnAt != nil { StandardError.write("\r\(Self.clearToEndOfLine)") }
            drawnAt = nil
        }
    }
}
