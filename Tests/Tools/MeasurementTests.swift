import Foundation
import JuiceDomain
import JuiceMessages
import MessageSamples
import TestSupport
import Testing

@testable import lab

struct OrderTests {
    @Test func theSameSeedMakesTheSameOrders() {
        func orders(seed: UInt64) -> [[UInt8]] {
            var generator = OrderGenerator(stores: 9, seed: seed)
            return (0..<100).map { generator.next(number: $0) }.flatMap { [$0.key, $0.value] }
        }
        #expect(orders(seed: 1) == orders(seed: 1) && orders(seed: 1) != orders(seed: 2))
    }

    @Test(arguments: [0, 7, 123_456_789])
    func generatesValidOrders(number: Int) {
        var generator = OrderGenerator(stores: 1000)
        let (key, value) = generator.next(number: number)
        #expect((100...125).contains(value.count) && String(decoding: key, as: UTF8.self).hasPrefix("store-0000"))
        let answered = value.withUnsafeBytes { Shop().answer(.order, $0) }
        #expect(answered?.id == "pos-7-\(String(number + 100_000_000_000).dropFirst())" && answered?.rejection == nil)
    }

    @Test(
        arguments: [
            (#"{"duplicate":true,"orderId":"pos-7-00000000042","store":"a"}"#, 42),
            (#"{"restockId":"pos-7-00000000042"}"#, nil), (#"{"orderId":"pos-7-0000000004"#, nil),
            (#"{"orderId":"pos-7-0000000004x"}"#, nil), ("", nil),
        ] as [(String, Int?)]
    )
    func findsTheNumberInAnAnswer(record: String, number: Int?) {
        #expect(Array(record.utf8).withUnsafeBytes { OrderGenerator.number(in: $0) } == number)
    }

    /// Which answers are longer depends on the menu; all are longer than the orders.
    @Test func answerSizesDependOnTheOutcome() throws {
        let none = try meanAnswerSize(orders: 1_000, stores: 10, initialStock: 0)
        let all = try meanAnswerSize(orders: 1_000, stores: 10, initialStock: 1_000_000)
        #expect(none > 115 && all > 115 && none != all)
    }
}

/// Two stores with 3 of each fruit, and the answers that a peer may write.
struct JudgeTests {
    private static let orders = 40
    /// The right answers: by their orders' numbers, with the keys.
    private var answers: [(key: String, value: String)] = []

    init() throws {
        let menu = try Menu.standard { _ in 3 }
        let shops = (0..<2).map { Shop(menu: menu, store: String(decoding: OrderGenerator.store($0), as: UTF8.self)) }
        var generator = OrderGenerator(stores: shops.count)
        for number in 0..<Self.orders {
            let (store, _, value) = generator.draw(number: number)
            let answered = try #require(value.withUnsafeBytes { shops[store].answer(.order, $0) })
            answers.append((shops[store].store, answered.values[0].replacing(/"revision":[0-9]+,/, with: "")))
        }
    }

    private func judge(_ answers: [(number: Int, key: String, value: String)]) throws -> Int {
        let judge = try Judge("the peer", orders: Self.orders, stores: 2, initialStock: 3)
        for (number, key, value) in answers {
            try Array(key.utf8).withUnsafeBytes { key in
                try Array(value.utf8).withUnsafeBytes { try judge.judge(number, key: key, value: $0) }
            }
        }
        return judge.count
    }

    private func all(_ change: (inout [(number: Int, key: String, value: String)]) -> Void = { _ in }) throws -> Int {
        var numbered: [(number: Int, key: String, value: String)] = answers.enumerated().map { ($0, $1.key, $1.value) }
        change(&numbered)
        return try judge(numbered)
    }

    /// Peers count no revisions, and word their messages as they like.
    @Test func rightAnswersCount() throws {
        #expect(answers.contains { $0.value.contains("used") } && answers.contains { $0.value.contains("outOfStock") })
        #expect(try all() == Self.orders)
        #expect(try all { $0[0].value.replace("juice made", with: "here you are") } == Self.orders)
    }

    @Test func wrongAnswersAreFaults() throws {
        #expect(throws: ToolError.self) { try all { $0.append($0[Self.orders - 1]) } }
        #expect(throws: ToolError.self) { try all { $0.append((Self.orders, $0[0].key, $0[0].value)) } }
        #expect(throws: ToolError.self) { try all { $0.reverse() } }
        #expect(throws: ToolError.self) { try all { $0[3].key = "store-0000002" } }
        #expect(throws: ToolError.self) { try all { $0[3].value = "{}" } }
        // As from stock that is not used up.
        #expect(throws: ToolError.self) { try all { $0[Self.orders - 1].value = $0[0].value } }
    }
}

struct TimingTests {
    @Test func everyRoundBeginsWithAnotherThing() {
        for (round, expected) in [(1, "abc"), (2, "bca"), (3, "cab"), (4, "abc")] {
            var order = ""
            let results = inTurns(round, ["a", "b", "c"]) { thing in
                order += thing
                return thing.uppercased()
            }
            #expect(order == expected && results == ["a": "A", "b": "B", "c": "C"])
        }
    }

    @Test func throughputIsCountedFromTheFirstSample() throws {
        let start = ContinuousClock.now
        let first = ThroughputSample(time: start, done: 10_000, processorTime: .milliseconds(50))
        let last = ThroughputSample(time: start + .milliseconds(500), done: 110_000, processorTime: .milliseconds(250))
        let throughput = try #require(Throughput(from: first, to: last, residentBytes: 7e6))
        #expect(throughput.ordersPerSecond == 200_000 && throughput.microsecondsPerOrder == 2 && throughput.megabytes == 7)
        #expect(Throughput(from: first, to: first) == nil)
    }

    @Test func answersAreTimedFromWhenTheirOrdersWereDue() throws {
        let schedule = Schedule(rate: 10, seconds: 1)
        #expect(schedule.orders == 20 && schedule.due(15) == .milliseconds(1500))
        let start = ContinuousClock.now
        var times = AnswerTimes(schedule, start: start)
        for number in 0..<20 {
            // Slow during the warm-up, which is not counted; then 1 ms for the first order, 2 ms for the next, and so on.
            let latency = number < 10 ? Duration.seconds(9) : .milliseconds(number - 9)
            try times.record(number, at: start + schedule.due(number) + latency)
            times.sample(processorTime: .microseconds(number * 30))
        }
        times.lateness = Array(repeating: 9, count: 10) + Array(repeating: 0, count: 10)
        #expect([50, 90, 100].map(times.latency) == [5, 9, 10])
        #expect(times.throughput?.microsecondsPerOrder == 30 && times.lateness(100) == 0)
        #expect(throws: ToolError.self) { try times.record(1, at: .now) }
        #expect(throws: ToolError.self) { try times.record(20, at: .now) }
    }

    @Test func restoringIsTheDifferenceOfTwoStarts() throws {
        let restore = try Restore.parse(["--stores", "1000"])
        var report = Report("restore", [:])
        let starts = [
            false: Restore.Start(seconds: 0.5, residentBytes: 30_000_000), true: .init(seconds: 1.5, residentBytes: 30_150_000),
        ]
        restore.add(starts, [false: 0.25, true: 0.75], firstAnswer: 0.5, to: &report)
        let goals = report.figures.filter { $0.goal != nil }
        #expect(goals.map(\.median) == [0.5, 150, 0.5] && goals.allSatisfy { $0.met == true })
    }

    /// The pieces really run, and the report has the times of each.
    @Test func theCoreIsMeasuredPieceByPiece() async throws {
        let core = try Core.parse(["--orders", "1000", "--stores", "3", "--rounds", "2"])
        let report = try await onThread { core.report(distinctOrders: 1 << 10) }
        let pieces = ["decode", "apply", "encode", "order", "basket", "remember", "engine", "engine-basket", "restore"]
        #expect(report.figures.map(\.name) == pieces.map { "ns/order, \($0)" })
        #expect(report.figures.allSatisfy { $0.rounds.count == 2 && $0.rounds.allSatisfy { $0 ?? 0 > 0 } })
    }
}

struct ChildTests {
    private func withChild<Result: Sendable>(
        _ script: String, _ body: @escaping @Sendable (Child) throws -> Result
    ) async throws -> Result {
        let log = NSTemporaryDirectory() + "juice-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: log) }
        return try await onThread { try body(try Child("the child", "/bin/sh", ["-c", script], log: log)) }
    }

    @Test func anEndedChildIsAFailureWithItsLog() async throws {
        try await withChild("echo first; echo second >&2; exit 7") { child in
            while child.isRunning { usleep(1_000) }
            let error = #expect(throws: ToolError.self) { try child.check() }
            #expect(error?.message == "the child ended by itself with status 7\n  its log ends:\n  first\n  second")
        }
    }

    /// Until it calls exec, a child has all ports and files of its parent; and so do those that other tests start, at times.
    @Test func aStartedChildHasNothingOfItsParent() async throws {
        var closed = 0
        for _ in 0..<20 {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (reading, writing) = (ends[0], ends[1])
            _ = fcntl(reading, F_SETFL, O_NONBLOCK)
            let isClosed = try await withChild("exec sleep 60") { _ in
                var byte: UInt8 = 0
                close(writing)
                defer { close(reading) }
                return read(reading, &byte, 1) == 0
            }
            closed += isClosed ? 1 : 0
        }
        #expect(closed > 15)
    }

    @Test func measuresARunningChild() async throws {
        try await withChild("trap '' TERM; echo ready; while :; do :; done") { child in
            while child.output.isEmpty { usleep(1_000) }
            try child.check()
            let before = try #require(child.processorTime)
            while try #require(child.processorTime) <= before { usleep(1_000) }
            #expect(try #require(child.residentBytes) > 0)
            child.stop(within: .milliseconds(10))
            #expect(child.status == -SIGKILL)
        }
    }
}
