import FaultyNetwork
import Foundation
import Synchronization

/// Writes lines to standard output and, on a terminal, a status line below them.
enum Console {
    private static let isTerminal = isatty(STDOUT_FILENO) == 1
    private static let lock = Mutex(())

    static func line(_ text: String) { write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n") }

    /// Shows a status line that the next line replaces; does nothing if standard output is not a terminal.
    static func status(_ text: String) {
        if isTerminal { write("\r\u{1B}[K\(text)") }
    }

    private static func write(_ text: String) {
        lock.withLock { _ in FileHandle.standardOutput.write(Data(text.utf8)) }
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }

    /// Such as `0.42 s`.
    var text: String { String(format: "%.2f s", seconds) }
}

/// The wall-clock time, as in record timestamps, in milliseconds since 1970.
func wallClock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

/// Waits with a proxy. If the condition does not hold in time, waits again without faults, because they may have been the only
/// reason for the delay.
@discardableResult
func wait(for timeout: Duration, through network: FaultyNetwork?, until holds: () throws -> Bool) throws -> Bool {
    if try wait(for: timeout, until: holds) { return true }
    guard let network else { return false }
    network.pauseFaults()
    defer { network.resumeFaults() }
    return try wait(for: timeout, until: holds)
}
