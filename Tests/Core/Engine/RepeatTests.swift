import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Commands that are sent more than once.
@Suite struct RepeatTests {
    @Test func aRepeatGetsTheFirstAnswerAgainAndTakesNothing() {
        let harness = Harness()
        for _ in 0..<2 { harness.order("a", "banana") }
        let answers = harness.cluster.answerValues()
        #expect(answers.count == 2)
        #expect(answers.last == again(answers[0], at: 1))
        #expect(harness.cluster.values(.stock).count == 1)
    }

    @Test func foreignRecordsAmongTheAnswersAreNoAnswers() {
        let harness = Harness()
        harness.cluster.note("juice, please")
        harness.cluster.send(.results, partition: 0, key: nil, value: nil)
        harness.order("a", "banana")
        #expect(harness.cluster.answers().last == "made a")
    }
}

/// The expected answer to a repeat at this offset: the first answer, marked as a duplicate.
func again(_ answer: String, at offset: Int) -> String {
    answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#)
        .replacing(/"offset":[0-9]+/, with: #""offset":\#(offset)"#)
}

/// The duplicate window counts from a command's timestamp to its repeat's, whenever they are read.
@Suite struct RepeatWindowTests {
    /// The order that is made again begins a window of its own. A repeat does not, and neither does a restore.
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
