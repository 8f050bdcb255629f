import Foundation
import JuiceClient

/// Standard output, written in whole pieces and never through C's buffers.
enum StandardOutput {
    /// Whether a person is looking.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ text: String) {
        write(Array(text.utf8))
    }

    static func line(_ text: String) {
        write(text + "\n")
    }

    /// What to write of a record that is JSON, in a line: for programs as it is, and nothing that steers a person's terminal.
    static func jsonLine(_ record: [UInt8], toTerminal: Bool = isTerminal) -> [UInt8] {
        let end = [UInt8(ascii: "\n")]
        return (toTerminal ? Array(String(decoding: record, as: UTF8.self).printableJSON.utf8) : record) + end
    }

    /// Writes all of the bytes. When whoever read them has gone, ends the process the way `head` expects.
    static func write(_ bytes: [UInt8]) {
        guard writeAll(bytes, to: STDOUT_FILENO) || errno != EPIPE else {
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
            return
        }
    }
}

/// Standard error, for everything that is not the result.
enum StandardError {
    static func write(_ text: String) {
        _ = writeAll(Array(text.utf8), to: STDERR_FILENO)
    }
}

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
