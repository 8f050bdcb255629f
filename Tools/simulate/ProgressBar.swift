import Foundation

/// A line that is redrawn on a terminal, and nothing elsewhere.
struct ProgressBar {
    let total: Int
    private let width = 40
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    /// The characters that erase the bar before something else is printed.
    static var erase: String { isTerminal ? "\r\u{1B}[K" : "" }

    func show(_ done: Int, failures: Int) {
        guard Self.isTerminal else { return }
        let filled = width * done / max(1, total)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        write("\(Self.erase)\(bar) \(done)/\(total) seeds, \(failures) failed")
    }

    func clear() { write(Self.erase) }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
