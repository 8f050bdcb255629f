import Foundation
import Logging

extension Logger {
    /// A logger that discards its lines.
    package static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// Keeps the lines of loggers, from any thread.
///
/// `lock` guards `lines`, which the compiler cannot see. It is a lock that Thread Sanitizer knows: the sanitizer does not see
/// a `Mutex` between Swift's threads and librdkafka's.
package final class LogRecorder: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []
    private let react: @Sendable (String) -> Void

    /// - Parameter react: called with each line.
    package init(_ react: @escaping @Sendable (String) -> Void = { _ in }) { self.react = react }

    /// Level, message and metadata of each line.
    package var all: [String] { lock.withLock { lines } }

    package func makeLogger(level: Logger.Level = .notice) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = level
        return logger
    }

    private func append(_ line: String) {
        lock.withLock { lines.append(line) }
        react(line)
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            recorder.append("\(event.level) \(event.message)\(pairs.joined())")
        }
    }
}
