import JuiceEngine
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

    /// Whatever the first outcome was, and even if the command would have another one now.
    @Test func everyKindOfAnswerIsGivenAgain() {
        let harness = Harness()
        for _ in 0..<2 {
            harness.cluster.order("short", "strawberry")
            harness.cluster.order("unknown", "durian")
            harness.restock("empty", #""add":{}"#)
            harness.restock("fill", #""add":{"strawberry":6}"#)
        }
        let first = ["outOfStock short", "rejected unknown", "rejected empty", "restocked fill"]
        #expect(harness.cluster.answers() == first + first.map { "\($0) again" })
        #expect(harness.cluster.values(.stock).count == 1)
    }

    /// Each order is a transaction of its own: markers take as many offsets as answers do, and repeats and aborted records take
    /// more.
    @Test func restoresTheLatestAnswersAcrossManyOffsets() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let window = DuplicateWindow(age: 3_600_000, count: 40)
        let first = Harness(cluster, member: "first", maxBatch: 1, window: window)
        for number in 0..<60 {
            for _ in 0..<2 { cluster.order("\(number)", "durian") }
            if number % 3 == 0 { first.fail(.commit, with: .startOver()) }
            first.run()
        }
        first.log.leave(handsOver: true)

        for number in 20..<60 { cluster.order("\(number)", "durian") }
        Harness(cluster, member: "second", window: window).run()
        #expect(cluster.answers().suffix(40) == (20..<60).map { "rejected \($0) again" })
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

    private func worker(_ member: String = "one", maxBatch: Int = 100) -> Harness {
        Harness(cluster, member: member, maxBatch: maxBatch, window: Self.window)
    }

    /// Lets time pass while other commands arrive and are answered.
    private func pass(_ duration: Timestamp, with worker: Harness) {
        let end = cluster.now + duration
        while cluster.now < end {
            cluster.now += 50
            worker.order("at \(cluster.now)", "durian")
        }
    }

    private func answers(to id: String) -> [String] {
        cluster.answers().filter { $0.hasSuffix(" \(id)") || $0.hasSuffix(" \(id) again") }
    }

    /// The worker ends after its answer. The repeat is sent a second later, and read another eight seconds later.
    @Test func aRepeatIsKnownHoweverLateItIsRead() {
        worker().order("a", "banana")
        cluster.now += 1_000
        cluster.order("a", "banana")
        cluster.now += 8_000
        worker().run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again"])
    }

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

    /// After hours without a broker, clients deliver their buffered commands among new ones.
    @Test(arguments: [false, true]) func anOutageDoesNotCount(isRestarted: Bool) {
        var worker = worker()
        worker.order("a", "banana")
        let sent = cluster.now
        cluster.now += 10_000_000
        if isRestarted {
            worker = self.worker()
            worker.run()
        } else {
            pass(2_000, with: worker)
        }
        worker.order("a", "banana", timestamp: sent + 4_000)
        #expect(answers(to: "a") == ["juiceMade a", "juiceMade a again"])
    }

    /// Reading the backlog takes ten times as long as it took to grow.
    @Test(arguments: [false, true]) func aBacklogDoesNotCount(isRestarted: Bool) {
        let start = cluster.now
        for number in 0..<50 {
            cluster.order("a", "banana", timestamp: start + Timestamp(number) * 100)
            cluster.order("\(number)", "durian", timestamp: start + Timestamp(number) * 100)
        }
        cluster.now += 10_000
        var worker = worker(maxBatch: 2)
        for _ in 0..<400 {
            cluster.now += 100
            cluster.writeAllMarkers()
            worker.step()
        }
        if isRestarted { worker = self.worker(maxBatch: 2) }
        worker.run()
        #expect(answers(to: "a").count { $0 == "juiceMade a" } == 1)
        #expect(answers(to: "a").count == 50)
    }

    /// An invalid timestamp counts as the moment of reading.
    @Test(arguments: [0, -1, -10_000_000_000_000, Int64.min, .max, 1_800_000_000_000] as [Timestamp])
    func invalidTimestampsDoNotChangeTheWindow(nonsense: Timestamp) {
        let worker = worker()
        cluster.order("a", "banana")
        worker.order("b", "banana", timestamp: nonsense)
        cluster.now += 4_000
        cluster.order("c", "kiwi", timestamp: nonsense)
        cluster.order("a", "banana")
        worker.order("b", "banana", timestamp: nonsense)
        #expect(cluster.answers().suffix(2) == ["juiceMade a again", "juiceMade b again"])
        cluster.now += 2_000
        cluster.order("b", "banana", timestamp: nonsense)
        worker.order("a", "banana", timestamp: nonsense)
        #expect(cluster.answers().suffix(2) == ["juiceMade b", "juiceMade a"])
    }

    @Test func aClockThatIsAheadDoesNotMakeOthersForgotten() {
        let worker = worker()
        worker.order("a", "banana")
        for number in 0..<100 {
            cluster.now += 20
            worker.order("\(number)", "durian", timestamp: cluster.now + 1_000_000)
        }
        worker.order("a", "banana")
        #expect(answers(to: "a").last == "juiceMade a again")
    }

    @Test func aClockThatIsBehindHasAWindowLikeOthers() {
        let worker = worker()
        for duration in [0, 4_000, 2_000] as [Timestamp] {
            pass(duration, with: worker)
            worker.order("a", "banana", timestamp: cluster.now - 1_000_000)
        }
        #expect(answers(to: "a") == ["juiceMade a", "juiceMade a again", "juiceMade a"])
    }

    @Test func aForwardedRepeatKeepsItsTime() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let store = cluster.store(in: 1)
        cluster.order("a", "banana", store: store, partition: 1)
        Harness(cluster, window: Self.window).run()
        cluster.now += 1_000
        cluster.order("a", "banana", store: store)
        cluster.now += 8_000
        Harness(cluster, window: Self.window).run()
        #expect(cluster.answers(partition: 1) == ["juiceMade a", "juiceMade a again"])
    }
}
