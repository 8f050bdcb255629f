import Dispatch
import Foundation
import JuiceMessages

/// Standard output, unbuffered.
enum StandardOutput {
    /// Held during a write, so that a signal does not end the process in the middle of a line.
    static let turn = DispatchSemaphore(value: 1)

    /// Opens an unusable placeholder for each standard stream that is closed. Otherwise a broker connection would get its number,
    /// and all that is written to the stream.
    static func reserveStandardStreams() {
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 {
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ text: String) { write(Array(text.utf8)) }

    static func line(_ text: String) { write(text + "\n") }

    /// Writes a line that a service can do without. It does not wait if the output queue has been started.
    static func serviceLine(_ text: String) { if !OutputQueue.output.write(text + "\n") { line(text) } }

    /// A JSON record as a line: unchanged for programs, and without control characters for a terminal.
    static func jsonLine(_ record: [UInt8], toTerminal: Bool = isTerminal) -> [UInt8] {
        let end = [UInt8(ascii: "\n")]
        return (toTerminal ? Array(String(decoding: record, as: UTF8.self).printableJSON.utf8) : record) + end
    }

    static func jsonLines(_ records: [[UInt8]]) { write(Array(records.map { jsonLine($0) }.joined())) }

    /// Writes all bytes, or ends the process: with SIGPIPE if the reader has closed the pipe, as `head` expects, and with
    /// ``Failure/Status/output`` if for example the disk is full. A result that is not written must not look like success.
    static func write(_ bytes: [UInt8]) {
        turn.wait()
        let code = writeAll(bytes, to: STDOUT_FILENO) ? 0 : errno
        turn.signal()
        guard code != 0 else { return }
        if code == EPIPE { endUnread() }
        StandardError.write(Failure(.output, "standard output cannot be written: \(String(cString: strerror(code)))").report)
        // Skip exit handlers: they may release what other threads still use.
        _exit(Failure.Status.output.rawValue)
    }

    /// Ends the process if the reader has closed the pipe. Otherwise only the next write would detect that.
    static func endIfUnread() {
        var stream = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        if poll(&stream, 1, 0) > 0, stream.revents & Int16(POLLERR) != 0 { endUnread() }
    }

    private static func endUnread() {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
    }
}

func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
        var rest = buffer[...]
        while !rest.isEmpty {
            let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written < 0 && errno == EINTR { continue }
            if written < 0 && errno == EAGAIN {
                // A program at the other end has made the stream non-blocking.
                var stream = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&stream, 1, -1)
                continue
            }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }
}

/// Encodes values as JSON with sorted members.
enum JSONText {
    static func line(_ value: some Encodable) -> String { (try? text(value, [])) ?? "{}" }

    static func indented(_ value: some Encodable) throws -> String { try text(value, .prettyPrinted) }

    private static func text(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        encoder.dateEncodingStrategy = .custom { date, encoder in
            try DateTime.utc(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())).encode(to: encoder)
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self).printableJSON
    }
}

extension String {
    /// The text with invisible characters as JSON escapes, such as `\u200b`, so that data from a topic can neither control the
    /// terminal nor pass for other data.
    var printable: String { escaping { $0.isInvisible } }

    /// JSON with the same escapes. Its meaning does not change: JSON allows control characters only as whitespace, which is kept,
    /// and the other characters only in strings.
    var printableJSON: String { escaping { $0.value >= 0x7F && $0.isInvisible } }

    private func escaping(_ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        guard unicodeScalars.contains(where: isEscaped) else { return self }
        var previous = Unicode.Scalar(0x20 as UInt8)
        return unicodeScalars.reduce(into: "") { text, scalar in
            // These shape an emoji, so they are visible.
            let shapes =
                ["\u{200D}", "\u{FE0F}"].contains(scalar) && previous.value > 0xFF
                && (previous.properties.isEmoji || previous == "\u{FE0F}")
            text += isEscaped(scalar) && !shapes ? scalar.escape : String(scalar)
            previous = scalar
        }
    }
}
