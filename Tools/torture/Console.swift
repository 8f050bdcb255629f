import Foundation
import Synchronization

/// Writes lines to standard output and, on a terminal, a status line below them.
enum Console {
    private static let isTerminal = isatty(STDOUT_FILENO) == 1
    private static let lock = Mutex(())

    static func line(_ text: String) { write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n") }

    /// Shows a status line that the next line replaces; does nothing if standard output is not a terminal.
    static func status(_ text: String) {
        guard isTerminal else { return }
        write("\r\u{1B}[K\(text)")
    }

    /// A row of a table.
    static func row(_ name: String, _ cells: [String], nameWidth: Int, cellWidth: Int) -> String {
        name.padding(toLength: nameWidth, withPad: " ", startingAt: 0)
            + cells.map { String(repeating: " ", count: max(1, cellWidth - $0.count)) + $0 }.joined()
    }

    private static func write(_ text: String) {
        lock.withLock { _ in FileHandle.standardOutput.write(Data(text.utf8)) }
    }
}
