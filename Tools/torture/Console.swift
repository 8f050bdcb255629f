import Foundation
import Synchronization

/// Lines on standard output and, where a person is looking, a last one that says how things stand.
enum Console {
    private static let isTerminal = isatty(STDOUT_FILENO) == 1
    private static let lock = Mutex(())

    static func line(_ text: String) {
        write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n")
    }

    /// Shows a line that the next one takes the place of; on anything but a terminal, nothing.
    static func status(_ text: String) {
        guard isTerminal else { return }
        write("\r\u{1B}[K\(text)")
    }

    private static func write(_ text: String) {
        lock.withLock { _ in FileHandle.standardOutput.write(Data(text.utf8)) }
    }
}
