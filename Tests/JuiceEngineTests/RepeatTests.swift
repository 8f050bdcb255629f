import JuiceEngine
import Testing

@testable import simulate

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

/// The duplicate window counts from a command's timestamp to its repeat's, whenever they are read.
@Suite struct RepeatWindowTests {
    private static let window = DuplicateWindow(age: 5_000, count: 10_000)

    private let cluster = SimulatedCluster(partitionCount: 1)

    private func worker(_ member: String = "one") -> Harness {
        Harness(cluster, member: member, window: Self.window)
    }

    /// Lets time pass in which other commands come and are answered.
    private func pass(_ duration: Timestamp, with worker: Harness) {
        let end = cluster.now + duration
        while cluster.now < end {
            cluster.now += 50
            cluster.order("at \(cluster.now)", "durian")
            worker.run()
        }
    }

    private func answers(to id: String) -> [String] {
        cluster.answers().filter { $0.hasSuffix(" \(id)") || $0.hasSuffix(" \(id) again") }
    }

    /// Answered, killed, sent again a second later, and started eight seconds later.
    @Test func aRepeatIsKnownHoweverLateItIsRead() {
        let first = worker()
        cluster.order("a", "banana")
        first.run()
        cluster.now += 1_000
        cluster.order("a", "banana")
        cluster.now += 8_000
        worker().run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again"])
    }

    @Test func whatWasSentAfterTheWindowIsNew() {
        let first = worker()
        cluster.order("a", "banana")
        first.run()
        for _ in 0..<2 {
            cluster.now += 3_000
            cluster.order("a", "banana")
            first.run()
        }
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade a"])
        // The window of the second begins with it.
        cluster.now += 3_000
        cluster.order("a", "banana")
        first.run()
        #expect(cluster.answers().last == "juiceMade a again")
    }

    @Test func itCountsFromTheFirstCommandAlsoAfterARestore() {
        let first = worker("first")
        cluster.order("a", "banana")
        first.run()
        cluster.now += 4_500
        cluster.order("a", "banana")
        first.run()
        first.log.leave()
        cluster.now += 4_500
        cluster.order("a", "banana")
        worker("second").run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade a"])
    }

    /// No broker answered for hours, and clients deliver what they sent meanwhile among what is new.
    @Test(arguments: [false, true]) func anOutageDoesNotCount(isRestarted: Bool) {
        var worker = worker()
        cluster.order("a", "banana")
        worker.run()
        let sent = cluster.now
        cluster.now += 10_000_000
        if isRestarted {
            worker = self.worker()
            worker.run()
        } else {
            pass(2_000, with: worker)
        }
        cluster.order("a", "banana", timestamp: sent + 4_000)
        worker.run()
        #expect(answers(to: "a") == ["juiceMade a", "juiceMade a again"])
    }

    /// It takes ten times as long to be read as it took to grow.
    @Test(arguments: [false, true]) func aBacklogDoesNotCount(isRestarted: Bool) {
        let start = cluster.now
        for number in 0..<50 {
            cluster.order("a", "banana", timestamp: start + Timestamp(number) * 100)
            cluster.order("\(number)", "durian", timestamp: start + Timestamp(number) * 100)
        }
        cluster.now += 10_000
        var worker = Harness(cluster, maxBatch: 2, window: Self.window)
        for _ in 0..<400 {
            cluster.now += 100
            cluster.writeAllMarkers()
            worker.step()
        }
        if isRestarted { worker = Harness(cluster, maxBatch: 2, window: Self.window) }
        worker.run()
        #expect(answers(to: "a").count { $0 == "juiceMade a" } == 1)
        #expect(answers(to: "a").count == 50)
    }

    /// Each counts as the moment at which it is read.
    @Test(arguments: [0, -1, -10_000_000_000_000, Int64.min, .max, 1_800_000_000_000] as [Timestamp])
    func nonsenseNeitherStretchesNorEmptiesIt(nonsense: Timestamp) {
        let worker = worker()
        cluster.order("a", "banana")
        cluster.order("b", "banana", timestamp: nonsense)
        worker.run()
        cluster.now += 4_000
        cluster.order("c", "kiwi", timestamp: nonsense)
        cluster.order("a", "banana")
        cluster.order("b", "banana", timestamp: nonsense)
        worker.run()
        #expect(cluster.answers().suffix(2) == ["juiceMade a again", "juiceMade b again"])
        cluster.now += 2_000
        cluster.order("b", "banana", timestamp: nonsense)
        cluster.order("a", "banana", timestamp: nonsense)
        worker.run()
        #expect(cluster.answers().suffix(2) == ["juiceMade b", "juiceMade a"])
    }

    @Test func aClockThatIsAheadDoesNotMakeOthersForgotten() {
        let worker = worker()
        cluster.order("a", "banana")
        worker.run()
        for number in 0..<100 {
            cluster.now += 20
            cluster.order("\(number)", "durian", timestamp: cluster.now + 1_000_000)
            worker.run()
        }
        cluster.order("a", "banana")
        worker.run()
        #expect(answers(to: "a").last == "juiceMade a again")
    }

    @Test func aClockThatIsBehindHasAWindowLikeOthers() {
        let worker = worker()
        let behind: Timestamp = 1_000_000
        cluster.order("a", "banana", timestamp: cluster.now - behind)
        worker.run()
        pass(4_000, with: worker)
        cluster.order("a", "banana", timestamp: cluster.now - behind)
        worker.run()
        #expect(answers(to: "a") == ["juiceMade a", "juiceMade a again"])
        pass(2_000, with: worker)
        cluster.order("a", "banana", timestamp: cluster.now - behind)
        worker.run()
        #expect(answers(to: "a").last == "juiceMade a")
    }

    @Test func whatNobodyCanRepeatIsForgotten() {
        let worker = worker()
        // The window, the delay that is allowed, which is as long here, and a little more.
        for _ in 0..<2 {
            pass(20_000, with: worker)
            #expect((200..<220).contains(worker.held.commands))
        }
    }

    @Test func aForwardedRepeatKeepsItsTime() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let first = Harness(cluster, window: Self.window)
        let store = cluster.store(in: 1)
        cluster.order("a", "banana", store: store, partition: 1)
        first.run()
        cluster.now += 1_000
        cluster.order("a", "banana", store: store, partition: 0)
        cluster.now += 8_000
        Harness(cluster, window: Self.window).run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a", "juiceMade a again"])
    }
}
