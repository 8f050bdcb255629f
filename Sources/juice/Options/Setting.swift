import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import JuiceWeb
import Logging

/// A setting: what an option of this name means on the command line, in the environment and in the configuration file.
///
/// Those that a single command takes stand beside that command.
struct Setting<Value: Sendable>: Sendable {
    /// The name of the option, and of the member in the configuration file.
    let name: String
    /// The value if none is given.
    let standard: Value
    /// Completes "must be …".
    let expectation: String
    /// Returns nil for an invalid text.
    let parse: @Sendable (String) -> Value?
    /// The value as `juice config` shows it; nil if there is none.
    let show: @Sendable (Value) -> String?

    /// Such as `JUICE_BOOTSTRAP_SERVERS`.
    var environmentName: String { Settings.variable(of: name) }
}

extension Setting {
    init(
        _ name: String, default standard: Value, _ expectation: String,
        show: @escaping @Sendable (Value) -> String = { "\($0)" }, _ parse: @escaping @Sendable (String) -> Value?
    ) {
        self.init(name: name, standard: standard, expectation: expectation, parse: parse, show: show)
    }

    /// A setting without a default.
    init<Given>(_ name: String, _ expectation: String, _ parse: @escaping @Sendable (String) -> Given?) where Value == Given? {
        self.init(
            name: name, standard: nil, expectation: expectation, parse: { parse($0).map(Optional.some) },
            show: { $0.map { "\($0)" } })
    }

    /// One of a few words.
    init(_ name: String, default standard: Value, _ expectation: String)
    where Value: RawRepresentable<String> {
        self.init(name, default: standard, expectation, show: \.rawValue) { Value(rawValue: $0) }
    }
}

extension Setting<Bool> {
    /// A flag, which is false if it is not given.
    init(_ name: String) {
        self.init(name, default: false, "true or false") { text in
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
    init(_ name: String, in range: ClosedRange<Int>) {
        let most = range.upperBound == .max ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        self.init(name, "a whole number, \(most)") { text in Int(text).flatMap { range.contains($0) ? $0 : nil } }
    }
}

extension Setting<Int> {
    init(_ name: String, in range: ClosedRange<Int>, default standard: Int) {
        let given = Setting<Int?>(name, in: range)
        self.init(name, default: standard, given.expectation) { given.parse($0) ?? nil }
    }
}

extension Setting<Duration> {
    /// A duration within a range, with units.
    init(_ name: String, in range: ClosedRange<Duration>, default standard: Duration) {
        let bounds = "from \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        self.init(
            name, default: standard, "a duration \(bounds) with its units, such as \(DurationText.examples)",
            show: DurationText.text
        ) { text in
            DurationText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting<String> {
    init(_ name: String, default standard: String) { self.init(name, default: standard, "a text") { $0 } }
}

extension Setting<String?> {
    init(_ name: String) { self.init(name, "a text") { $0 } }

    init(_ name: String, ofAtMost length: Int) {
        self.init(name, "1 to \(length) bytes long") { (1...length).contains($0.utf8.count) ? $0 : nil }
    }
}

// MARK: - Kafka and the log

extension Setting<String?> {
    static var bootstrapServers: Self { Self("bootstrap-servers") }
    /// Lines of `name=value`. They may hold passwords, so only ``KafkaProperties`` reads them.
    static var kafkaProperty: Self { Self("kafka-property") }
    static var kafkaPropertyFile: Self { Self("kafka-property-file") }
    static var kafkaDebug: Self { Self("kafka-debug") }
    static var menu: Self { Self("menu") }
}

extension Setting<String> {
    static var topicPrefix: Self { Self("topic-prefix", default: TopicNames.standardPrefix) }
    /// The consumer group of the service.
    static var group: Self { Self("group", default: "juice-maker") }
}

extension Setting<Bool> {
    static var requireBrokers: Self { Self("require-brokers") }
}

extension Setting<Logger.Level?> {
    static var logLevel: Self {
        Self("log-level", "one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))") {
            Logger.Level(rawValue: $0.lowercased())
        }
    }
}

extension Setting<LogFormat> {
    static var logFormat: Self { Self("log-format", default: .text, "text or json") }
}

extension Setting<Language> {
    /// The language of names and messages.
    static var language: Self { Self("language", default: .english, "en or ko") }
}

// MARK: - What several commands take

extension Setting<Duration> {
    /// How long to wait for brokers and answers.
    static var timeout: Self { Self("timeout", in: .milliseconds(1) ... .seconds(86_400), default: .seconds(10)) }
    /// How long a repeat gets the answer to the first command.
    static var duplicateWindow: Self {
        Self(
            "duplicate-window", in: .zero ... .seconds(365 * 86_400), default: .milliseconds(DuplicateWindow.standard.age))
    }
}

extension Setting<HTTPAddress?> {
    static var http: Self { address("http") }
    /// The address for health and metrics, besides that of the page.
    static var adminHTTP: Self { address("admin-http") }

    private static func address(_ name: String) -> Self {
        Self(name, "host:port, such as 127.0.0.1:8080") { HTTPAddress($0) }
    }
}

extension Setting<Int> {
    /// The partitions of each topic that is created.
    static var partitions: Self { Self("partitions", in: 1...10_000, default: 4) }
}

extension Setting<Int?> {
    static var replicationFactor: Self { Self("replication-factor", in: 1...100) }
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
    static var code: Self { Self("code") }
    static var key: Self { Self("key") }
    static var value: Self { Self("value") }
    // Anchors.
    static var topic: Self { Self("topic") }
    static var after: Self { Self("after") }
    static var reason: Self { Self("reason") }
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
    static var partition: Self { Self("partition", in: 0...Int(Int32.max)) }
    static var offset: Self { Self("offset", in: 0 ... .max) }
    static var accept: Self { Self("accept", in: 1 ... .max) }
    static var orders: Self { Self("orders", in: 1 ... .max) }
}

extension Setting<Bool> {
    static var notes: Self { Self("notes") }
    static var watch: Self { Self("watch") }
    static var pending: Self { Self("pending") }
    static var raw: Self { Self("raw") }
    static var all: Self { Self("all") }
    static var yes: Self { Self("yes") }
    static var earliest: Self { Self("earliest") }
    static var latest: Self { Self("latest") }
    static var copied: Self { Self("copied") }
    static var dryRun: Self { Self("dry-run") }
    static var kiosk: Self { Self("kiosk") }
}

// MARK: - Times

/// A duration as people write it: whole numbers with units, the largest first, such as `1h30m`.
///
/// A number without a unit is refused: `--timeout 500` would be seconds to one reader and milliseconds to another.
enum DurationText {
    /// Completes "such as …".
    static let examples = "500ms, 30s or 1h30m"

    private static let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]

    /// Parses a duration; nil if the text is none. Zero needs no unit.
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
        let pattern =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?(Z|[+-][0-9]{2}:[0-5][0-9])?)?/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        var calendar = Calendar(identifier: .gregorian)
        guard let zone = match.7.map(zone(of:)) ?? zone else { return nil }
        calendar.timeZone = zone
        let parts = DateComponents(
            calendar: calendar, year: number(match.1), month: number(match.2), day: number(match.3), hour: number(match.4),
            minute: number(match.5), second: number(match.6))
        return parts.isValidDate ? parts.date?.timeIntervalSince1970 : nil
    }

    /// The zone `Z`, or such as `+09:00`.
    private static func zone(of offset: Substring) -> TimeZone? {
        let digits = offset.dropFirst().split(separator: ":").compactMap { Int($0) }
        let minutes = digits.count == 2 ? digits[0] * 60 + digits[1] : 0
        return TimeZone(secondsFromGMT: (offset.first == "-" ? -60 : 60) * minutes)
    }
}
