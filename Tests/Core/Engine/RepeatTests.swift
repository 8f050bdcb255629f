import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that are sent more than once.
@Suite struct RepeatTests {
    @Test func foreignRecordsAmongTheAnswersAreNoAnswers() {
        let harness = Harness()
        harness.cluster.note("juice, please")
        harness.cluster.send(.results, partition: 0, key: nil, value: nil)
        harness.order("a", "banana")
        #expect(harness.cluster.answers().last == "made a")
    }

    /// The window counts from a command's timestamp to its repeat's, whenever they are read. The order that is made again begins a
    /// window of its own. A repeat does not, and neither does a restore.
    @Test(arguments: [false, true]) func aCommandSentAfterTheWindowIsNew(restarts: Bool) {
        let cluster = SimulatedCluster(partitionCount: 1)
        func makeWorker() -> Harness { Harness(cluster, window: DuplicateWindow(age: 5_000, count: 10_000)) }
        var worker = makeWorker()
        for _ in 0..<4 {
            worker.order("a", "banana")
            cluster.now += 3_000
            guard restarts else { continue }
            worker.log.leave(handsOver: true)
            worker = makeWorker()
        }
        #expect(cluster.answers() == ["made a", "made a again", "made a", "made a again"])
    }
}
