import Foundation
import JuiceClient
import JuiceHTTP
import JuiceMaker
import JuiceMessages
import JuiceService
import Logging

// Values that several commands read.
extension Settings {
    /// The menu in the configured file, or the built-in menu.
    func menu() throws(Failure) -> Menu {
        guard let path = string(.menu) else { return .standard }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the menu \(path) cannot be read")
        }
        let result: Result<Menu, MenuFile.Failure> = Array(data).withUnsafeBytes { bytes in
            Result { () throws(MenuFile.Failure) in try MenuFile.decode(bytes) }
        }
        switch result {
        case .success(let menu): return menu
        case .failure(let failure): throw Failure(.configuration, "the menu \(path) cannot be used: \(failure)")
        }
    }

    /// The language of names and messages.
    func language() throws(Failure) -> Language {
        let names = Language.allCases.map(\.rawValue).joined(separator: " or ")
        return try value(.language, names) { Language(rawValue: $0) } ?? .english
    }

    /// The log level. Debug contexts of librdkafka imply the level debug.
    func logLevel(default level: Logger.Level) throws(Failure) -> Logger.Level {
        let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        return try value(.logLevel, "one of \(names)") { Logger.Level(rawValue: $0.lowercased()) }
            ?? (string(.kafkaDebug) == nil ? level : .debug)
    }

    /// The format of log lines.
    func logFormat() throws(Failure) -> LogFormat {
        let names = LogFormat.allCases.map(\.rawValue).joined(separator: " or ")
        return try value(.logFormat, names) { LogFormat(rawValue: $0) } ?? .text
    }

    /// A logger with the configured format and level; by default `level`.
    func logger(default level: Logger.Level) throws(Failure) -> Logger {
        Logger.lines(level: try logLevel(default: level), format: try logFormat())
    }

    /// The address to listen at; nil if none is configured.
    func address(_ setting: Setting) throws(Failure) -> HTTPAddress? {
        try value(setting, "host:port, such as 127.0.0.1:8080") { HTTPAddress($0) }
    }

    /// The names of the topics.
    func topics() -> TopicNames {
        TopicNames(prefix: string(.topicPrefix) ?? TopicNames.standardPrefix)
    }

    /// The consumer group of the service.
    func group() -> String { string(.group) ?? "juice-maker" }

    /// The store id; nil if none was given.
    func store() throws(Failure) -> String? { try text(.store, ofAtMost: StoreID.maximumLength) }

    /// A list of store ids; nil if none was given.
    func storeNames() throws(Failure) -> [String]? {
        try value(.stores, "names of 1 to \(StoreID.maximumLength) bytes", StoreID.names)
    }

    /// A text of 1 to `length` bytes.
    func text(_ setting: Setting, ofAtMost length: Int) throws(Failure) -> String? {
        try value(setting, "1 to \(length) bytes long") { text in (1...length).contains(text.utf8.count) ? text : nil }
    }

    /// How long to wait for brokers and answers.
    func timeout() throws(Failure) -> Duration {
        try value(.timeout, "a number of seconds above 0, at most 86400") { text in
            Double(text).flatMap { $0 > 0 && $0 <= 86400 ? Duration.milliseconds(Int(($0 * 1000).rounded(.up))) : nil }
        } ?? .seconds(10)
    }

    /// The number of partitions of new topics.
    func partitions() throws(Failure) -> Int { try integer(.partitions, in: 1...10_000) ?? 4 }
}

extension StoreID {
    /// Parses a comma-separated list of store ids; nil if one of them is invalid.
    static func names(_ list: String) -> [String]? {
        let names = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return names.allSatisfy { (1...maximumLength).contains($0.utf8.count) } ? names : nil
    }
}
