import Foundation
import Logging

/// Log lines for people: one each, on standard error.
enum Log {
    /// A logger from that level on.
    ///
    /// - Parameter sink: takes the finished lines, without their ends.
    static func logger(
        level: Logger.Level,
        sink: @escaping @Sendable (String) -> Void = { StandardError.write($0 + "\n") }
    ) -> Logger {
        var logger = Logger(label: "juice") { _ in LineLogHandler(sink: sink) }
        logger.logLevel = level
        return logger
    }
}

/// Writes `12:34:56 notice ready partitions=0,1`.
struct LineLogHandler: LogHandler {
    let sink: @Sendable (String) -> Void
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(sink: @escaping @Sendable (String) -> Void) {
        self.sink = sink
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        sink(Self.line(time: ClockTime.now, event.level, "\(event.message)", all))
    }

    static func line(
        time: String,
        _ level: Logger.Level,
        _ message: String,
        _ metadata: Logger.Metadata
    ) -> String {
        let pairs = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(time) \(level) \(message)\(pairs)".printable
    }
}

/// The time of day where this machine is, as `HH:MM:SS`.
enum ClockTime {
    static var now: String { of(secondsSince1970: Int(Date.now.timeIntervalSince1970)) }

    static func of(secondsSince1970 seconds: Int) -> String {
        var clock = time_t(seconds)
        var parts = tm()
        localtime_r(&clock, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(
            separator: ":"
        )
    }
}
