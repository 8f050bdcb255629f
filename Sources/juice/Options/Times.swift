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

/// A point in time as people write it: how long ago, a time of day, or a date with or without one.
enum TimeText {
    static let help = """
        A time is \(kinds). Without a zone it is in that of this machine, or of TZ. Times are shown so that they can be \
        given. A record counts as no older than those before it in its partition.
        """

    /// Completes "it must be …", too.
    static let kinds = """
        how long ago, such as 90s, 10m, 1h30m or 7d, a time of day, such as 12:34, which is the last one that has been, or a date, \
        with or without a time: 2026-01-31, 2026-01-31T12:34 or 2026-01-31T12:34:56+09:00
        """

    /// Parses a time.
    ///
    /// - Parameters:
    ///   - text: such as `90s`, `1h30m`, `12:34`, `2026-01-31`, `2026-01-31T12:34` or `2026-01-31 12:34:56.789+09:00`.
    ///   - now: what the text counts back from.
    ///   - after: milliseconds since 1970. If the last such time of day is not later than this, the next one is meant.
    ///   - offset: how far local time is ahead of UTC, in seconds, at a time in seconds since 1970.
    /// - Returns: milliseconds since 1970; nil if the text is no time.
    static func milliseconds(
        _ text: String, now: Date = .now, after: Int64 = .min, offset: (Double) -> Int = localOffset
    ) -> Int64? {
        let present = now.timeIntervalSince1970
        // A day may have only 23 hours, and the text's own zone may be on another date.
        let days = stride(from: 86_400.0, through: -129_600, by: -43_200).map { distance in
            (now + distance + Double(offset(present))).formatted(.iso8601.year().month().day())
        }
        let ago = DurationText.parse(text).map { present - $0 / .seconds(1) }
        let ofDay = days.compactMap { date("\($0)T\(text)", offset) }.filter { $0 * 1000 > Double(after) }
        let seconds = ago ?? date(text, offset) ?? ofDay.first { $0 <= present } ?? ofDay.last
        return seconds.map { Int64(($0 * 1000).rounded()) }
    }

    /// How far this machine's time is ahead of UTC, in seconds. Asks the C library, as `date` does: Foundation does not understand
    /// every `TZ` (`:Asia/Seoul`, `KST-9`, a path), nor an `/etc/localtime` that is no link, and then takes UTC.
    static func localOffset(at seconds: Double) -> Int {
        var (time, parts) = (time_t(seconds), tm())
        return localtime_r(&time, &parts) == nil ? 0 : parts.tm_gmtoff
    }

    private static func date(_ text: String, _ offset: (Double) -> Int) -> Double? {
        let pattern =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:\d\d)?)?/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(
            calendar: calendar, year: number(match.1), month: number(match.2), day: number(match.3), hour: number(match.4),
            minute: number(match.5), second: number(match.6))
        guard parts.isValidDate, let clock = parts.date?.timeIntervalSince1970 else { return nil }
        let fraction = match.7.flatMap { Double("0\($0)") } ?? 0
        if let name = match.8 {
            let zone = TimeZone(identifier: name == "Z" ? "GMT" : "GMT\(name)")
            return zone.map { clock - Double($0.secondsFromGMT()) + fraction }
        }
        // When clocks are put back, a local time occurs twice: take the first. When they are put forward, some do not occur.
        let times = [-86_400, 86_400].map { clock - Double(offset(clock + $0)) }
        return times.first { $0 + Double(offset($0)) == clock }.map { $0 + fraction }
    }
}
