import Foundation

/// Formats a point in time, given in milliseconds since 1970.
enum DateTime {
    /// The local date and time with its zone, as `2026-01-31 12:34:56+09:00`.
    static func text(milliseconds: Int64) -> String { local(milliseconds, isExact: false) }

    static func exactText(milliseconds: Int64) -> String { local(milliseconds, isExact: true) }

    private static func local(_ milliseconds: Int64, isExact: Bool) -> String {
        let date = date(milliseconds)
        let zone = TimeZone(secondsFromGMT: TimeText.localOffset(at: date.timeIntervalSince1970)) ?? .gmt
        return date.formatted(
            Date.ISO8601FormatStyle(
                dateTimeSeparator: .space, timeZoneSeparator: .colon, includingFractionalSeconds: isExact, timeZone: zone))
    }

    /// In RFC 3339 and UTC, as `2026-01-31T12:34:56.789Z`.
    static func utc(milliseconds: Int64) -> String {
        date(milliseconds).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Adds half a millisecond, because the format truncates, and binary fractions are not exact.
    private static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1000) }
}
