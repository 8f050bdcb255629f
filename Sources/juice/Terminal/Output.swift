import Foundation

/// Standard output, unbuffered.
enum StandardOutput {
    /// Whether it is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ text: String) { write(Array(text.utf8)) }

    static func line(_ text: String) { write(text + "\n") }

    /// Writes a line that a service can do without, and does not wait for it.
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
        guard !writeAll(bytes, to: STDOUT_FILENO) else { return }
        let code = errno
        if code == EPIPE {
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        }
        StandardError.write(Failure(.output, "standard output cannot be written: \(String(cString: strerror(code)))").report)
        // Without the library's handlers, which other threads may be in need of.
        _exit(Failure.Status.output.rawValue)
    }
}

/// Standard error, for everything other than results.
enum StandardError {
    static func write(_ text: String, isLast: Bool = false) {
        if !OutputQueue.error.write(text, isLast: isLast) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }
    }
}

func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
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

/// Encodes values as JSON with sorted members.
enum JSONText {
    /// On one line.
    static func line(_ value: some Encodable) -> String { (try? text(value, [])) ?? "{}" }

    /// Indented, for programs and people.
    static func indented(_ value: some Encodable) throws -> String {
        try text(value, .prettyPrinted)
    }

    private static func text(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(DateTime.utc(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())))
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self).printableJSON
    }
}

extension Unicode.Scalar {
    /// Whether it could control a terminal, break the line, or reverse the direction of the surrounding text, so that people read
    /// something other than what is there.
    fileprivate var isSteering: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension String {
    /// The text with control characters replaced, so that data from a topic cannot control the terminal.
    var printable: String {
        replacing { $0.isSteering ? "\u{FFFD}" : nil }
    }

    /// JSON with control characters escaped. The meaning does not change: JSON allows them only in strings, except for whitespace,
    /// which is kept.
    var printableJSON: String {
        replacing { scalar in
            guard scalar.isSteering, scalar.value >= 0x7F else { return nil }
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    private func replacing(_ replacement: (Unicode.Scalar) -> String?) -> String {
        guard unicodeScalars.contains(where: \.isSteering) else { return self }
        return unicodeScalars.reduce(into: "") { $0 += replacement($1) ?? String($1) }
    }
}
