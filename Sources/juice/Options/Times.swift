import Foundation

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
