import Synchronization

/// Keeps log lines back while the terminal shows something else.
final class HeldLog: Sendable {
    private let lines = Mutex<[String]>([])
    private static let most = 100

    @Sendable func hold(_ line: String) {
        lines.withLock { lines in
            if lines.count == Self.most { lines.removeFirst() }
            lines.append(line)
        }
    }

    /// Writes them to standard error.
    func release() {
        let held = lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
        if !held.isEmpty { StandardError.write(held.joined(separator: "\n") + "\n") }
    }
}
