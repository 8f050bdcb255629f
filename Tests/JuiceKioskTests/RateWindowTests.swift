import Testing

@testable import JuiceKiosk

struct RateWindowTests {
    private typealias Counts = RateWindow.Counts

    /// When the order was answered, the current time, the rate, and the last two steps of 5 s.
    @Test(arguments: [
        (time: 100, now: 100, rate: 0.0, before: 0, last: 1),
        (time: 100, now: 101, rate: 0.1, before: 0, last: 1),
        (time: 100, now: 105, rate: 0.1, before: 1, last: 0),
        (time: 100, now: 110, rate: 0.1, before: 0, last: 0),
        (time: 100, now: 111, rate: 0.0, before: 0, last: 0),
    ])
    func anOrderAges(time: Int, now: Int, rate: Double, before: Int, last: Int) {
        var window = RateWindow(now: 100)
        window.count(\.made, at: time, now: 100)
        #expect(window.rate(now: now) == rate)
        let steps = window.steps(of: 5, now: now)
        #expect(steps.count == 60)
        #expect(steps[58].made == before)
        #expect(steps[59].made == last)
    }

    @Test func kindsAreCountedApart() {
        var window = RateWindow(now: 1000)
        window.count(\.made, at: 1000, now: 1000)
        window.count(\.made, at: 1000, now: 1000)
        window.count(\.outOfStock, at: 1000, now: 1000)
        window.count(\.rejected, at: 1000, now: 1000)
        window.count(\.cancelled, at: 1000, now: 1000)
        let counts = Counts(made: 2, outOfStock: 1, rejected: 1, cancelled: 1)
        #expect(window.steps(of: 5, now: 1000).last == counts)
        // A cancel is no order.
        #expect(window.rate(now: 1001) == 0.4)
    }

    @Test func whatIsTooOldCountsNowhereAndTheFutureIsNow() {
        var window = RateWindow(now: 1000)
        window.count(\.made, at: 1000 - RateWindow.length, now: 1000)
        #expect(window.steps(of: 5, now: 1000).map(\.made).reduce(0, +) == 0)
        window.count(\.made, at: 1000 - RateWindow.length + 5, now: 1000)
        window.count(\.made, at: 5000, now: 1000)
        let steps = window.steps(of: 5, now: 1000)
        #expect(steps.map(\.made).reduce(0, +) == 2)
        #expect(steps.last?.made == 1)
    }

    @Test func aLongPauseEmptiesIt() {
        var window = RateWindow(now: 10)
        window.count(\.made, at: 10, now: 10)
        #expect(window.steps(of: 5, now: 10 + RateWindow.length * 3).map(\.made).reduce(0, +) == 0)
    }

    @Test func aClockThatGoesBackChangesNothing() {
        var window = RateWindow(now: 100)
        window.count(\.made, at: 100, now: 100)
        window.count(\.made, at: 90, now: 90)
        #expect(window.steps(of: 5, now: 100).map(\.made).reduce(0, +) == 2)
    }
}
