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
        #expect(harness.cluster.answers().last == "juiceMade a")
    }
}

/// The expected answer to a repeat at this offset: the first answer, marked as a duplicate.
func again(_ answer: String, at offset: Int) -> String {
    answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#)
        .replacing(/"offset":[0-9]+/, with: #""offset":\#(offset)"#)
}

/// The duplicate window counts from a command's timestamp to its repeat's, whenever they are read.
@Suite struct RepeatWindowTests {
    private static let window = DuplicateWindow(age: 5_000, count: 10_000)

    private let cluster = SimulatedCluster(partitionCount: 1)

    private func worker(_ member: String = "one") -> Harness { Harness(cluster, member: member, window: Self.window) }

    @Test func aCommandSentAfterTheWindowIsNew() {
        let worker = worker()
        worker.order("a", "banana")
        for _ in 0..<3 {
            cluster.now += 3_000
            worker.order("a", "banana")
        }
        // The order that is made again begins a window of its own.
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade a", "juiceMade a again"])
    }

    @Test func itCountsFromTheFirstCommandAlsoAfterARestore() {
        let first = worker("first")
        first.order("a", "banana")
        cluster.now += 4_500
        first.order("a", "banana")
        first.log.leave(handsOver: true)
        cluster.now += 4_500
        worker("second").order("a", "banana")
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade a"])
    }
}
