import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import JuiceWeb
import Logging

/// An option: its name on the command line, in the environment and in the configuration file, what it takes, and its help.
///
/// It is declared once; those of a single command are beside it. A command takes it with `@Option(.workers) var workers: String?`,
/// and reads it from ``Settings``, which know the other places where it may be given.
struct Setting<Value: Sendable>: Sendable {
    /// The name of the option, and of the member in the configuration file.
    let name: String
    /// The value if none is given, and its text; nil if there is nothing to show.
    let standard: Value
    let standardText: String?
    /// Completes "must be …".
    let expectation: String
    /// What the help calls the value: words to choose from are separated by `|`.
    let placeholder: String
    /// The help, without the default.
    let help: String
    /// Returns nil for an invalid text.
    let parse: @Sendable (String) -> Value?

    init(
        _ name: String, default standard: Value, _ expectation: String, value placeholder: String = "text", help: String = "",
        shown standardText: String? = nil, _ parse: @escaping @Sendable (String) -> Value?
    ) {
        (self.name, self.standard, self.standardText) = (name, standard, standardText ?? "\(standard)")
        (self.expectation, self.placeholder, self.help, self.parse) = (expectation, placeholder, help, parse)
    }

    /// A setting without a default.
    init<Given>(
        _ name: String, _ expectation: String, value placeholder: String = "text", help: String = "",
        _ parse: @escaping @Sendable (String) -> Given?
    ) where Value == Given? {
        (self.name, standard, standardText) = (name, nil, nil)
        (self.expectation, self.placeholder, self.help) = (expectation, placeholder, help)
        self.parse = { parse($0).map(Optional.some) }
    }

    /// Such as `JUICE_BOOTSTRAP_SERVERS`.
    var environmentName: String { Settings.variable(of: name) }
}

extension Setting where Value: RawRepresentable<String> & CaseIterable {
    /// One of a few words.
    init(_ name: String, default standard: Value, help: String) {
        let words = Value.allCases.map(\.rawValue)
        self.init(
            name, default: standard, words.joined(separator: " or "), value: words.joined(separator: "|"), help: help,
            shown: standard.rawValue
        ) { Value(rawValue: $0) }
    }
}

extension Setting<Bool> {
    /// A flag, which is false if it is not given.
    init(_ name: String, help: String = "") {
        self.init(name, default: false, "true or false", help: help) { text in
            switch text.lowercased() {
            case "true", "yes", "1": true
            case "false", "no", "0": false
            default: nil
            }
        }
    }
}

extension Setting<Int?> {
    /// A whole number within a range.
    init(_ name: String, in range: ClosedRange<Int>, value placeholder: String = "count", help: String = "") {
        let most = range.upperBound == .max ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        self.init(name, "a whole number, \(most)", value: placeholder, help: help) {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting<Int> {
    init(_ name: String, in range: ClosedRange<Int>, default standard: Int, value placeholder: String = "count", help: String = "")
    {
        let given = Setting<Int?>(name, in: range)
        self.init(name, default: standard, given.expectation, value: placeholder, help: help) { given.parse($0) ?? nil }
    }
}

extension Setting<Duration> {
    /// A duration within a range, with units.
    init(_ name: String, in range: ClosedRange<Duration>, default standard: Duration, help: String = "") {
        let bounds = "from \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        self.init(
            name, default: standard, "a duration \(bounds) with its units, such as \(DurationText.examples)", value: "duration",
            help: help, shown: DurationText.text(standard)
        ) { text in
            DurationText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting<String> {
    init(_ name: String, default standard: String, value placeholder: String = "text", help: String = "") {
        self.init(name, default: standard, "a text", value: placeholder, help: help) { $0 }
    }
}

extension Setting<String?> {
    init(_ name: String, value placeholder: String = "text", help: String = "") {
        self.init(name, "a text", value: placeholder, help: help) { $0 }
    }

    init(_ name: String, ofAtMost length: Int) {
        self.init(name, "1 to \(length) bytes long") { (1...length).contains($0.utf8.count) ? $0 : nil }
    }
}

// MARK: - Kafka and the log

extension Setting<String?> {
    static var bootstrapServers: Self {
        Self(
            "bootstrap-servers", value: "host:port,…",
            help: """
                The Kafka brokers, separated by commas. (default: an embedded broker, which serve starts and the others \
                find; else 127.0.0.1:9092)
                """)
    }
    /// Lines of `name=value`. They may hold passwords, so only ``KafkaProperties`` reads them.
    static var kafkaProperty: Self { Self("kafka-property") }
    static var kafkaPropertyFile: Self {
        Self("kafka-property-file", value: "file", help: "A file of such properties, one per line; it may contain passwords.")
    }
    static var menu: Self { Self("menu", value: "file", help: "The menu's JSON file. (default: the built-in menu)") }
}

extension Setting<String> {
    static var topicPrefix: Self {
        Self("topic-prefix", default: TopicNames.standardPrefix, help: "The prefix of the topics' names.")
    }
    static var group: Self {
        Self("group", default: "juice-maker", value: "name", help: "The consumer group: instances of one group share the work.")
    }
}

extension Setting<Bool> {
    static var requireBrokers: Self {
        Self("require-brokers", help: "Fail if no brokers are configured, instead of using an embedded one or 127.0.0.1:9092.")
    }
}

extension Setting<Logger.Level> {
    /// - Parameter standard: depends on the command.
    static func logLevel(default standard: Logger.Level) -> Self {
        Self(
            "log-level", default: standard, "one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))"
        ) { Logger.Level(rawValue: $0.lowercased()) }
    }
}

extension Setting<LogFormat> {
    static var logFormat: Self {
        Self("log-format", default: .text, help: "The log format: text, a line for people, or json, an object per line.")
    }
}

extension Setting<Language> {
    static var language: Self { Self("language", default: .english, help: "The language of names and messages: en or ko.") }
}

// MARK: - What several commands take

extension Setting<Duration> {
    /// How long to wait for brokers and answers.
    static var timeout: Self {
        Self(
            "timeout", in: .milliseconds(1) ... .seconds(86_400), default: .seconds(10), help: "How long to wait for the broker.")
    }
    static var duplicateWindow: Self {
        Self(
            "duplicate-window", in: .zero ... .seconds(365 * 86_400), default: .milliseconds(DuplicateWindow.standard.age),
            help: "How long a repeated order or restock gets the answer to the first one.")
    }
}

extension Setting<HTTPAddress?> {
    /// The address of health and metrics, or of the kiosk's page.
    static var http: Self { address("http") }
    /// The address of a kiosk's health and metrics.
    static var adminHTTP: Self { address("admin-http") }

    private static func address(_ name: String) -> Self {
        Self(
            name, "host:port, such as 127.0.0.1:8080", value: "host:port",
            help: "Serve /health/live, /health/ready and /metrics at this address. (default: off)"
        ) { HTTPAddress($0) }
    }
}

extension Setting<Int> {
    static var partitions: Self {
        Self("partitions", in: 1...10_000, default: 4, help: "Partitions of each topic that is created.")
    }
    static var duplicateIDs: Self {
        Self(
            "duplicate-ids", in: 0...100_000_000, default: DuplicateWindow.standard.count,
            help: "How many orders, cancels and restocks per partition are remembered for that; 30 bytes of memory each.")
    }
}

extension Setting<Int?> {
    static var replicationFactor: Self {
        Self(
            "replication-factor", in: 1...100,
            help: "Replicas of each partition of a topic that is created. (default: the cluster's)")
    }
    static var last: Self { Self("last", in: 0 ... .max) }
}

extension Setting<Bool> {
    static var follow: Self { Self("follow") }
    static var json: Self { Self("json") }
    static var unchecked: Self { Self("unchecked") }
    static var wait: Self { Self("wait") }
}

// MARK: - What one command takes

extension Setting<String?> {
    static var store: Self { Self("store", ofAtMost: StoreID.maximumLength) }
    static var orderID: Self { Self("order-id", ofAtMost: CommandKind.maximumIDLength) }
    static var restockID: Self { Self("restock-id", ofAtMost: CommandKind.maximumIDLength) }
    // Dead letters.
    static var key: Self { Self("key") }
    static var value: Self { Self("value") }
}

extension Setting<Int64?> {
    /// A point in time, in milliseconds since 1970.
    static var since: Self { time("since") }
    static var until: Self { time("until") }

    private static func time(_ name: String) -> Self {
        Self(name, "how long ago, such as 10m, 2h or 7d, a time of today, such as 12:34, or a date, such as 2026-01-31T12:34") {
            TimeText.milliseconds($0)
        }
    }
}

extension Setting<Int?> {
    static var orders: Self { Self("orders", in: 1 ... .max) }
}

extension Setting<Bool> {
    static var notes: Self { Self("notes") }
    static var watch: Self { Self("watch") }
    static var pending: Self { Self("pending") }
    static var raw: Self { Self("raw") }
    static var all: Self { Self("all") }
    static var yes: Self { Self("yes") }
}

// MARK: - Times

/// A duration as people write it: whole numbers with units, the largest first, such as `1h30m`.
///
/// A number without a unit is refused: `--timeout 500` would be seconds to one reader and milliseconds to another.
enum DurationText {
    /// Completes "such as …".
    static let examples = "500ms, 30s or 1h30m"

    private static let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]

    /// Parses a duration; nil if the text is not one. Zero needs no unit.
    static func parse(_ text: String) -> Duration? {
        guard text != "0" else { return .zero }
        let pattern = /(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?(?:([0-9]{1,9})ms)?/
        guard !text.isEmpty, let match = text.wholeMatch(of: pattern) else { return nil }
        let counts = [match.1, match.2, match.3, match.4, match.5].map { $0.flatMap { Int($0) } ?? 0 }
        return .milliseconds(zip(counts, units).reduce(0) { $0 + $1.0 * $1.1.1 })
    }

    /// The shortest text that means the same, to the millisecond.
    static func text(_ duration: Duration) -> String {
        var rest = Int((duration / .milliseconds(1)).rounded())
        guard rest > 0 else { return "0s" }
        return units.reduce(into: "") { text, unit in
            if rest >= unit.1 { text += "\(rest / unit.1)\(unit.0)" }
            rest %= unit.1
        }
    }
}

/// A point in time as people write it: how long ago, a time of today, or a date with or without a time of day.
enum TimeText {
    /// What the help of a command says of its times.
    static let help = """
        A time is how long ago, such as 90s, 10m, 1h30m or 7d, a time of today, such as 12:34, or a date, with or without a time: \
        2026-01-31, 2026-01-31T12:34 or 2026-01-31T12:34:56Z.
        """

    /// Parses a time.
    ///
    /// - Parameters:
    ///   - text: such as `90s`, `1h30m`, `12:34`, `2026-01-31`, `2026-01-31T12:34` or `2026-01-31T12:34:56Z`.
    ///   - now: what the text counts back from.
    ///   - zone: the time zone of today, and of a date that names none.
    /// - Returns: milliseconds since 1970; nil if the text is no time.
    static func milliseconds(_ text: String, now: Date = .now, zone: TimeZone = .current) -> Int64? {
        let today = now.formatted(Date.ISO8601FormatStyle(timeZone: zone).year().month().day())
        let ago = DurationText.parse(text).map { now.timeIntervalSince1970 - $0 / .seconds(1) }
        let seconds = ago ?? date(text, zone) ?? date("\(today)T\(text)", zone)
        return seconds.map { Int64($0 * 1000) }
    }

    private static func date(_ text: String, _ zone: TimeZone) -> Double? {
        let pattern = /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(Z)?)?/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = match.7 == nil ? zone : .gmt
        let parts = DateComponents(
            calendar: calendar, year: number(match.1), month: number(match.2), day: number(match.3), hour: number(match.4),
            minute: number(match.5), second: number(match.6))
        return parts.isValidDate ? parts.date?.timeIntervalSince1970 : nil
    }
}
