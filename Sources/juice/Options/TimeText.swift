import Foundation
import JuiceClient

/// A point in time as people write it: how long ago, or a date with or without a time of day.
enum TimeText {
    private static let secondsOfUnits: [Substring: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400]

    /// Parses a time.
    ///
    /// - Parameters:
    ///   - text: such as `90s`, `2h`, `2026-01-31`, `2026-01-31T12:34` or `2026-01-31T12:34:56Z`.
    ///   - now: what the text counts back from.
    ///   - zone: the time zone of a date that names none.
    /// - Returns: milliseconds since 1970; nil if the text is no time.
    static func milliseconds(_ text: String, now: Date = .now, zone: TimeZone = .current) -> Int64? {
        let seconds = ago(text, now) ?? date(text, zone)
        return seconds.map { Int64($0 * 1000) }
    }

    private static func ago(_ text: String, _ now: Date) -> Double? {
        guard let match = text.wholeMatch(of: /([0-9]{1,9})([smhd])/), let count = Double(match.1),
            let unit = secondsOfUnits[match.2]
        else { return nil }
        return now.timeIntervalSince1970 - count * unit
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

extension Settings {
    /// A point in time, in milliseconds since 1970; nil if none was given.
    func time(_ setting: Setting) throws(Failure) -> Int64? {
        try value(setting, "how long ago, such as 10m, 2h or 7d, or a date, such as 2026-01-31 or 2026-01-31T12:34") {
            TimeText.milliseconds($0)
        }
    }
}
