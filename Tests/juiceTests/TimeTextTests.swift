import Foundation
import Testing

@testable import juice

struct TimeTextTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)
    private static let seoul = TimeZone(secondsFromGMT: 9 * 3600)

    @Test(
        arguments: [
            ("90s", 999_910), ("10m", 999_400), ("2h", 992_800), ("7d", 395_200), ("0s", 1_000_000),
            ("1970-01-02", 54000), ("1970-01-02T12:34", 99240),
            ("1970-01-02 00:00:05", 54005), ("1970-01-02T00:00:05Z", 86405),
            ("1970-01-02T00:00+09:30", 52200), ("1970-01-02T00:00:00-01:00", 90000),
            ("2024-02-29T00:00Z", 1_709_164_800),
        ] as [(String, Int64)]
    )
    func readsTimes(text: String, seconds: Int64) throws {
        let zone = try #require(Self.seoul)
        #expect(TimeText.milliseconds(text, now: Self.now, zone: zone) == seconds * 1000)
    }

    @Test(arguments: [
        "", "10", "m", "-5m", "1.5h", "2w", "yesterday", "2026-13-01", "2026-02-29", "2026-01-31T25:00", "2026-1-31",
        "2026-01-31T12", "2026-01-31Z", "2026-01-31T12:34+05:99", "12:34", "9999999999s",
    ])
    func refusesAnythingElse(text: String) {
        #expect(TimeText.milliseconds(text, now: Self.now) == nil)
    }

    @Test func theSettingSaysWhatItTakes() throws {
        #expect(try BenchSamples.settings([.since: "1970-01-02T00:00Z"]).time(.since) == 86_400_000)
        #expect(try BenchSamples.settings().time(.since) == nil)
    }
}
