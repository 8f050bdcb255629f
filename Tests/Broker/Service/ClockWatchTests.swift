import JuiceEngine
import JuiceMessages
import MetricsTestKit
import TestSupport
import Testing

@testable import JuiceService

/// One log line each time the times of commands begin or cease to differ from this machine's clock.
@Suite struct ClockWatchTests {
    private static let (hour, day): (Timestamp, Timestamp) = (3_600_000, 86_400_000)

    private static func warning(_ difference: String) -> String {
        "warning the times of most commands lie \(difference) this machine's clock. One of the clocks is wrong: see"
            + " docs/OPERATIONS.md#juiceclocksdiffer"
    }

    private static let agreement = "notice the times of most commands agree with this machine's clock again"

    /// The ages of commands that are read one after the other, and the lines that are logged.
    private static let rules: [(String, ages: [Timestamp], lines: [String])] = [
        ("clocks agree", Array(repeating: 200, count: 9) + Array(repeating: -59_000, count: 9), []),
        ("senders are behind", Array(repeating: day, count: 20), [warning("24 h behind")]),
        ("or ahead", Array(repeating: -5 * 60_000, count: 20), [warning("5 min ahead of")]),
        ("or wrong by years", Array(repeating: 400 * day, count: 20), [warning("400 days behind")]),
        ("too few to tell", Array(repeating: day, count: 4), []),
        ("one sender of three", (0..<30).map { $0 % 3 == 0 ? hour : 0 }, []),
        ("two of three", (0..<30).map { $0 % 3 == 0 ? 0 : 90_000 }, [warning("89 s behind")]),
        ("it is fixed", (0..<40).map { $0 < 20 ? day : 0 }, [warning("24 h behind"), agreement]),
        ("it gets worse", (0..<40).map { $0 < 20 ? 2 * hour : day }, [warning("2 h behind")]),
    ]

    private let recorder = LogRecorder()
    private let metrics = TestMetrics()
    private let watch: ClockWatch

    init() { watch = ClockWatch(metrics: metrics, logger: recorder.makeLogger()) }

    /// Reads commands of these ages at an interval in milliseconds. The end of the log was looked up a second before each.
    ///
    /// - Parameter lag: how many records of the log are not read yet.
    private func read(_ ages: [Timestamp], every interval: Timestamp = 1_000, lag: Offset = 0, headers: [MessageHeader] = []) {
        for (offset, age) in ages.enumerated() {
            let now = 1_700_000_000_000 + Timestamp(offset) * interval
            let log = 0..<Offset(offset) + lag
            let input = InputPartition(topic: .orders, partition: 0)
            let extents = PartitionExtents(partition: 0, inputs: [input: log], results: 0..<0, stock: 0..<0)
            watch.found([extents], at: now - 1_000, uptime: now - 1_000)
            let command = CommandRecord(
                topic: .orders, partition: 0, offset: Offset(offset), timestamp: now.subtractingReportingOverflow(age).partialValue,
                key: nil, value: nil, index: 0)
            watch.compare(command, at: now) { headers }
        }
    }

    @Test(arguments: rules) func differencesAreLoggedOnce(rule: String, ages: [Timestamp], lines: [String]) {
        read(ages)
        #expect(recorder.all == lines, "\(rule)")
    }

    @Test func theDifferenceIsMeasured() {
        #expect(metrics.gauge(.clockDifference, []) == 0)
        read(Array(repeating: -90_000, count: 9))
        #expect(metrics.gauge(.clockDifference, []) == 90)
        read(Array(repeating: Self.hour, count: 20))
        #expect(metrics.gauge(.clockDifference, []) == -3_599)
    }

    @Test func ignoresPossiblyDelayedCommands() {
        let age = Array(repeating: Self.day, count: 30)
        read(age, lag: 1)
        read(age, headers: [MessageHeader(name: HeaderName.forwardedFrom, value: "1/2")])
        read(age, every: 50)
        #expect(recorder.all.isEmpty && metrics.gauge(.clockDifference, []) == 0)
    }

    /// When the watch looks, by the clock and by the uptime, and the lines that are logged.
    @Test(
        arguments: [
            ([(0, 0), (3_000, 3_000), (6_500, 6_000)], []),
            ([(0, 0), (-7_197_000, 3_000), (-7_194_000, 6_000)], ["warning this machine's clock was set 2 h back"]),
            ([(0, 0), (259_203_000, 3_000)], ["warning this machine's clock was set 3 days forward"]),
            // The machine was asleep, and its clock is corrected.
            ([(0, 0), (3_605_000, 3_600_000)], []),
        ] as [([(Timestamp, Timestamp)], [String])]
    ) func aClockThatIsSetIsLoggedOnce(looks: [(now: Timestamp, uptime: Timestamp)], lines: [String]) {
        for look in looks { watch.found([], at: 1_700_000_000_000 + look.now, uptime: look.uptime) }
        #expect(recorder.all == lines)
    }

    @Test(arguments: [.max, 1_800_000_000_000 - .max] as [Timestamp]) func noTimeIsTooFarAway(age: Timestamp) {
        read(Array(repeating: age, count: 9))
        #expect(recorder.all.count == 1)
    }
}
