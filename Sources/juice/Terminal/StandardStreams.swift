import Foundation
import JuiceClient

/// Standard output, unbuffered.
enum StandardOutput {
    /// Whether it is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ text: String) { write(Array(text.utf8)) }

    static func line(_ text: String) { write(text + "\n") }

    /// A JSON record as a line: unchanged for programs, and without control characters for a terminal.
    static func jsonLine(_ record: [UInt8], toTerminal: Bool = isTerminal) -> [UInt8] {
        let end = [UInt8(ascii: "\n")]
        return (toTerminal ? Array(String(decoding: record, as: UTF8.self).printableJSON.utf8) : record) + end
    }

    /// Writes all bytes. If the reader has closed the pipe, ends the process with SIGPIPE, as `head` expects.
    static func write(_ bytes: [UInt8]) {
        guard writeAll(bytes, to: STDOUT_FILENO) || errno != EPIPE else {
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
            return
        }
    }
}

/// Standard error, for everything other than results.
enum StandardError { static func write(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) } }

private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
        var rest = buffer[...]
        while !rest.isEmpty {
            let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }
}
