import Foundation
import Kafka
import Logging

enum LogFormat: String, CaseIterable {
    case text
    case json
}

extension Logger {
    /// A logger that writes one line per event, to standard error unless a sink is given.
    static func lines(
        level: Logger.Level, format: LogFormat = .text,
        sink: @escaping @Sendable (String) -> Void = { StandardError.write($0 + "\n") }
    ) -> Logger {
        var logger = Logger(label: "juice") { _ in LineLogHandler(format: format, sink: sink) }
        logger.logLevel = level
        return logger
    }

    /// Logs the first line of a command that runs until it is stopped: its version, brokers and topics.
    func started(_ command: String, brokers: String, _ options: KafkaOptions, _ own: Logger.Metadata) {
        let common: Logger.Metadata = [
            "version": "\(JuiceCommand.currentVersion)", "librdkafka": "\(KafkaLibrary.version)", "brokers": "\(brokers)",
            "topics": "\(options.topicPrefix)*",
        ]
        notice("juice \(command)", metadata: common.merging(own) { $1 })
    }
}

struct LineLogHandler: LogHandler {
    let format: LogFormat
    let sink: @Sendable (String) -> Void
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        sink(Self.line(format, time: .now, event.level, "\(event.message)", all))
    }

    /// `2026-03-01T12:34:56.789Z notice ready partitions=0,1`, or as JSON
    /// `{"time":"2026-03-01T12:34:56.789Z","level":"notice","message":"ready","partitions":"0,1"}`.
    ///
    /// In JSON, metadata with the name of one of the first three members is dropped, so that programs can rely on those.
    static func line(
        _ format: LogFormat, time: Date, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata
    ) -> String {
        let time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let pairs = metadata.sorted { $0.key < $1.key }.map { (name: $0.key, value: "\($0.value)") }
        switch format {
        case .text:
            return "\(time) \(level) \(message)\(pairs.map { " \($0.name)=\($0.value)" }.joined())".printable
        case .json:
            let head = [(name: "time", value: time), (name: "level", value: level.rawValue), (name: "message", value: message)]
            let members = head + pairs.filter { pair in !head.map(\.name).contains(pair.name) }
            return "{\(members.map { "\(JSONText.line($0.name)):\(JSONText.line($0.value))" }.joined(separator: ","))}"
        }
    }
}
