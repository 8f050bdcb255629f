import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Instances with wrong clocks, on brokers that limit timestamps.
@Suite struct ClockTests {
    private let cluster = SimulatedCluster(partitionCount: 1)
    private static let (hour, day): (Timestamp, Timestamp) = (3_600_000, 86_400_000)

    init() { cluster.limitsTimes = true }

    /// Sets the clock of the instance "one".
    private func setClock(_ offset: Timestamp) { cluster.clockOffsets["one"] = offset }

    private func restart(_ harness: Harness) -> Harness {
        harness.runAndLeave()
        return Harness(cluster)
    }

    private var headers: [Timestamp?] { cluster.answerRecords().map { $0.headers.sent } }

    /// Without limits a clock may be days ahead. Neither its answers nor its current time may hide earlier answers.
    @Test func answersFromBeforeAClockRanAheadAreRestored() {
        cluster.limitsTimes = false
        var harness = Harness(cluster)
        harness.order("a", "kiwi")
        setClock(3 * Self.day)
        harness = restart(harness)
        harness.order("b", "kiwi")
        harness = restart(harness)
        harness.order("a", "kiwi")
        #expect(cluster.answers() == ["made a", "made b", "made a again"])
        #expect(headers == [nil, cluster.records(.orders)[1].timestamp, cluster.records(.orders)[2].timestamp])
    }

    @Test func addsNoTimeHeaderInASteadyState() {
        let harness = Harness(cluster)
        for (number, age) in [0, 1, 299_000].enumerated() {
            harness.order("\(number)", "kiwi", timestamp: cluster.now - Timestamp(age))
        }
        #expect(headers == [nil, nil, nil])
        #expect(cluster.answerRecords().allSatisfy { $0.timestamp >= cluster.now - 1_000 })
    }

    /// The log stamps records when they are written, but the engine assumes the time at which it read the commands.
    @Test(arguments: [-3 * day, hour]) func aClockThatIsSetWithinATransactionVoidsIt(jump: Timestamp) {
        let cluster = SimulatedCluster(partitionCount: 2)
        cluster.limitsTimes = true
        let harness = Harness(cluster)
        harness.run()
        // The forward is flushed before the answer is written.
        cluster.order("b", "kiwi", store: cluster.store(in: 1))
        cluster.order("a", "kiwi")
        while harness.log.point != .midTransaction { harness.step() }
        cluster.clockOffsets["one"] = jump
        harness.run()
        #expect(harness.restarts > 0)
        let answer = cluster.answerRecords(partition: 0).last
        #expect(cluster.answers(partition: 0).last == "made a")
        #expect((answer?.headers.sent ?? answer?.timestamp ?? 0) / 60_000 == cluster.now / 60_000)
    }

    @Test func anInstanceWhoseTimeIsRefusedLeavesItsPartitionsToOthers() {
        setClock(3 * Self.day)
        let (harness, other) = (Harness(cluster), Harness(cluster, member: "two"))
        harness.run()
        let isRefused = harness.events.contains { if case .clockRefused = $0 { true } else { false } }
        #expect(isRefused && cluster.group.members.count == 1)
        other.order("a", "kiwi")
        other.runAndLeave()
        // By the time it tries again, its clock is right.
        setClock(0)
        cluster.now += 60_000
        harness.order("b", "kiwi")
        #expect(cluster.answers() == ["made a", "made b"])
    }

    /// The journal ran days ahead before the topic had a limit.
    @Test func anAnswerWhoseTimeIsRefusedGetsTheTimeOfTheClock() {
        cluster.limitsTimes = false
        setClock(3 * Self.day)
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        setClock(0)
        cluster.limitsTimes = true
        for id in ["b", "c"] { harness.order(id, "kiwi") }
        #expect(cluster.answers() == ["made a", "made b", "made c"])
        #expect(cluster.answerRecords().map { $0.timestamp > cluster.now + Self.hour } == [true, false, false])
        #expect(harness.restarts == 1)
        #expect(harness.failures.isEmpty)
    }
}
