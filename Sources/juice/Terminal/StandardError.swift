import Foundation

/// Standard error, for everything other than results.
enum StandardError {
    static func write(_ text: String, isLast: Bool = false) {
        if !OutputQueue.error.write(text, isLast: isLast) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }
    }
}
