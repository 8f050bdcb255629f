import JuiceClient
import Testing

@testable import JuiceBench

struct BenchMathTests {
    @Test(
        arguments: [
            ([], nil), ([3], 3), ([4, 1], 2.5), ([9, 1, 5], 5), ([1, 2, 3, 100], 2.5),
        ] as [([Double], Double?)]
    )
    func findsTheMedian(values: [Double], median: Double?) {
        #expect(Statistics.median(values) == median)
    }

    /// The usual textbook example of the nearest-rank method.
    @Test(arguments: [(5, 15), (30, 20), (40, 20), (50, 35), (100, 50), (0, 15), (99.9, 50)] as [(Double, Double)])
    func findsPercentiles(percent: Double, value: Double) {
        #expect(Statistics.percentile(percent, ofSorted: [15, 20, 35, 40, 50]) == value)
    }

    @Test func nothingHasNoPercentile() { #expect(Statistics.percentile(50, ofSorted: []) == nil) }

    @Test func aDistributionTellsTheTail() {
        let times = LatencyDistribution(sorted: (1...1000).map(Double.init))
        #expect([times.p50, times.p90, times.p99, times.p999, times.max] == [500, 900, 990, 999, 1000])
        let other = LatencyDistribution(sorted: [7])
        #expect(LatencyDistribution(medianOf: [times, other, other]).p99 == 7)
    }

    @Test(
        arguments: [
            (0, "0"), (1_234_567, "1,234,567"), (999.6, "1,000"), (123.4, "123"), (12.34, "12.3"),
            (9.999, "10.00"),
            (0.85, "0.85"), (0.0123, "0.012"), (-1234.5, "-1,235"), (-0.0001, "0.000"), (.infinity, "-"),
            (.nan, "-"),
        ] as [(Double, String)]
    )
    func writesFigures(value: Double, text: String) {
        #expect(Figure.text(value) == text)
    }

    @Test func throughputIsCountedFromTheFirstSample() throws {
        let start = ContinuousClock.now
        let first = ThroughputSample(time: start, done: 10_000, processorTime: .milliseconds(50))
        let last = ThroughputSample(time: start + .milliseconds(500), done: 110_000, processorTime: .milliseconds(250))
        let throughput = try #require(last.since(first, residentBytes: 7))
        #expect(throughput == Throughput(ordersPerSecond: 200_000, cpuMicrosecondsPerOrder: 2, residentBytes: 7))
        #expect(first.since(first, residentBytes: nil) == nil)
        let untold = ThroughputSample(time: start + .seconds(1), done: 20_000, processorTime: nil)
        #expect(untold.since(first, residentBytes: nil)?.cpuMicrosecondsPerOrder == nil)
    }

    @Test func answersAreTimedFromWhenTheirOrdersWereDue() throws {
        let plan = LatencyPlan(rate: 10, durationSeconds: 1, initialStock: 10, partitions: 1, rounds: 1)
        #expect(plan.orders == 20)
        #expect(plan.due(15) == .milliseconds(1500))
        let start = ContinuousClock.now
        var times = AnswerTimes(plan: plan, start: start)
        for number in 0..<20 {
            // Slow during the warm-up, which is not counted; then 1 ms for the first order, 2 ms for the next, and so on.
            let latency = number < 10 ? Duration.seconds(9) : .milliseconds(number - 9)
            try times.record(number, at: start + plan.due(number) + latency)
            times.sample(processorTime: .microseconds(number * 30))
        }
        #expect(times.isComplete)
        let figures = times.figures(lateness: Array(repeating: 9, count: 10) + Array(repeating: 0, count: 10))
        #expect(figures.milliseconds.p50 == 5)
        #expect(figures.milliseconds.max == 10)
        #expect(figures.cpuMicrosecondsPerOrder == 30)
        #expect(figures.senderLateMilliseconds.max == 0)
    }

    @Test func aSecondAnswerIsFoundOut() throws {
        let plan = LatencyPlan(rate: 1, durationSeconds: 1, initialStock: 10, partitions: 1, rounds: 1)
        var times = AnswerTimes(plan: plan, start: .now)
        try times.record(1, at: .now)
        #expect(throws: Failure.self) { try times.record(1, at: .now) }
        #expect(throws: Failure.self) { try times.record(2, at: .now) }
    }

    @Test(
        arguments: [
            (Goal.Bound.atLeast, 0.85, 0.85, true), (.atLeast, 0.849, 0.85, false), (.atMost, 10, 10, true),
            (.atMost, 10.1, 10, false), (.atMost, nil, 10, nil),
        ] as [(Goal.Bound, Double?, Double, Bool?)]
    )
    func goalsAreMet(bound: Goal.Bound, measured: Double?, limit: Double, isMet: Bool?) {
        #expect(Goal(name: "", measured: measured, bound: bound, limit: limit).isMet == isMet)
    }
}

struct BenchTurnsTests {
    @Test func everyRoundBeginsWithAnotherThing() {
        for (round, expected) in [(1, "abc"), (2, "bca"), (3, "cab"), (4, "abc")] {
            var order = ""
            let results = inTurns(round, ["a", "b", "c"]) { thing in
                order += thing
                return thing.uppercased()
            }
            #expect(order == expected)
            #expect(results == ["A", "B", "C"])
        }
    }
}

struct AnswerSizeTests {
    /// Which answers are longer depends on the menu; all are longer than the orders.
    @Test func answersAreAsLongAsWhatComesOfTheOrders() throws {
        let none = try AnswerSize.mean(orders: 1_000, stores: 10, initialStock: 0)
        let all = try AnswerSize.mean(orders: 1_000, stores: 10, initialStock: 1_000_000)
        #expect(none > 115 && all > 115 && none != all)
    }
}
