import JuiceEngine
import JuiceSimulation
import Testing

/// Commands that are sent more than once.
@Suite struct RepeatTests {
    @Test func aRepeatGetsTheFirstAnswerAgainAndTakesNothing() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        harness.cluster.order("a", "banana")
        harness.run()
        let answers = harness.cluster.answerValues()
        #expect(answers.count == 2)
        #expect(
            answers.last
                == answers.first?.replacing(#"{"type":"juiceMade""#, with: #"{"type":"juiceMade","duplicate":true"#).replacing(
                    #""offset":0"#, with: #""offset":1"#))
        #expect(harness.cluster.values(.stock).count == 1)
    }

    @Test func repeatsWithinOneTransactionAreKnown() {
        let harness = Harness()
        for _ in 0..<3 { harness.cluster.order("a", "banana") }
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade a again"])
        #expect(harness.cluster.values(.stock).last?.contains(#""banana":8"#) == true)
    }

    /// Whatever came of it the first time, also when it would be something else by now.
    @Test func everyKindOfAnswerIsGivenAgain() {
        let harness = Harness()
        let cluster = harness.cluster
        for _ in 0..<2 {
            cluster.order("short", "strawberry")
            cluster.order("unknown", "durian")
            cluster.restock("empty", #""add":{}"#)
            harness.run()
            cluster.restock("fill", #""add":{"strawberry":6}"#)
            harness.run()
        }
        #expect(
            cluster.answers() == [
                "outOfStock short", "rejected unknown", "rejected empty", "restocked fill",
                "outOfStock short again", "rejected unknown again", "rejected empty again",
                "restocked fill again",
            ]
        )
        #expect(cluster.values(.stock).count == 1)
    }

    @Test func theFirstBodyCounts() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.cluster.order("a", "kiwi", quantity: 3)
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade a again"])
        #expect(harness.cluster.answerValues().allSatisfy { $0.contains(#""juice":"banana""#) })
    }

    @Test func anOrderAndARestockOfOneIDAreTwoCommands() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.cluster.restock("a", #""add":{"kiwi":1}"#)
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "restocked a"])
    }

    @Test(arguments: [SimulatedLog.Call.produce, .commit])
    func whatWasAbortedIsNoRepeatWhenItIsReadAgain(call: SimulatedLog.Call) {
        let harness = Harness()
        harness.fail(call, with: LogError(.startOver, "a test"))
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
    }

    @Test func aRepeatIsKnownToASuccessor() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let first = Harness(cluster, member: "first")
        cluster.order("a", "banana")
        cluster.order("b", "durian")
        first.run()
        cluster.group.remove("first")

        let second = Harness(cluster, member: "second")
        cluster.order("b", "durian")
        cluster.order("a", "banana")
        second.run()
        #expect(cluster.answers() == ["juiceMade a", "rejected b", "rejected b again", "juiceMade a again"])
    }

    /// Each order is a transaction of its own, so that markers take as many offsets as answers, and repeats and aborted
    /// records take more.
    @Test func theLatestAreReadBackHoweverManyOffsetsTheyTake() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let window = DuplicateWindow(age: 3_600_000, count: 40)
        let first = Harness(cluster, member: "first", maxBatch: 1, window: window)
        for number in 0..<60 {
            cluster.order("\(number)", "durian")
            cluster.order("\(number)", "durian")
            if number % 3 == 0 { first.fail(.commit, with: LogError(.startOver, "a test")) }
            first.run()
        }
        first.log.leave()

        let second = Harness(cluster, member: "second", window: window)
        for number in 20..<60 { cluster.order("\(number)", "durian") }
        second.run()
        #expect(cluster.answers().suffix(40) == (20..<60).map { "rejected \($0) again" })
    }

    @Test func foreignRecordsAmongTheAnswersAreNoAnswers() {
        let cluster = SimulatedCluster(partitionCount: 1)
        cluster.send(.results, partition: 0, key: nil, value: Array("juice, please".utf8))
        cluster.send(.results, partition: 0, key: nil, value: nil)
        let harness = Harness(cluster)
        cluster.order("a", "banana")
        harness.run()
        #expect(cluster.answers().last == "juiceMade a")
    }
}
