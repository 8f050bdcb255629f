import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Repeats whose first answers are no longer in memory.
@Suite struct ReadBackTests {
    private let cluster = SimulatedCluster(partitionCount: 2)
    /// A worker with room for the last answer of each partition alone.
    private let harness: Harness

    init() { harness = Harness(cluster, answerBytes: 0) }

    private var readBackCount: Int { harness.transactions.reduce(0) { $0 + $1.answersReadBack } }

    private func sendAndRun(_ ids: String...) {
        for id in ids { cluster.order(id, "banana") }
        harness.run()
    }

    @Test func aRepeatGetsItsAnswerFromTheJournal() {
        sendAndRun("a", "b", "c")
        harness.restock("fill", #""add":{"kiwi":1}"#)
        let first = cluster.answerValues()
        for id in ["b", "a"] { cluster.order(id, "kiwi", quantity: 3) }
        harness.run()
        #expect(cluster.answerValues().dropFirst(4) == [again(first[1], at: 3), again(first[0], at: 4)])
        #expect(readBackCount == 2)
        // They are at hand now.
        sendAndRun("a", "b")
        #expect(cluster.answers().suffix(2) == ["juiceMade a again", "juiceMade b again"])
        #expect(readBackCount == 2)
    }

    /// What was read before the repeat is committed first, other partitions go on, and what comes after it waits its turn.
    @Test func commandsKeepTheirOrder() {
        sendAndRun("a", "b")
        cluster.order("other", "kiwi", partition: 1)
        sendAndRun("c", "a", "d")
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade c", "juiceMade a again", "juiceMade d"])
        #expect(cluster.answers(partition: 1) == ["juiceMade other"])
        // In two transactions: with the first record of each partition, and with the rest.
        #expect(harness.transactions.count == 3)
    }

    @Test func aRepeatWithinALargeTransactionWaitsForTheNext() {
        sendAndRun("a", "b", "c", "a", "d")
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade c", "juiceMade a again", "juiceMade d"])
    }

    @Test func aCancelFindsWhatItsOrderTook() {
        cluster.basket("a", #"{"juice":"kiwi","quantity":2},{"juice":"banana"}"#)
        cluster.cancel("early")
        sendAndRun("b")
        for _ in 0..<2 { for id in ["a", "early"] { cluster.cancel(id) } }
        sendAndRun("a", "c")
        let answers = [
            "cancelled a", "cancelled early again", "cancelled a again", "cancelled early again", "rejected a", "juiceMade c",
        ]
        #expect(cluster.answers().dropFirst(3) == answers[...])
        #expect(cluster.answerValues()[3].contains(#""returned":{"kiwi":6,"banana":2}"#))
    }

    /// Its order's answer, and that of the first cancel.
    @Test func aCancelThatNeedsTwoAnswersGetsBoth() {
        harness.order("a", "kiwi")
        harness.restock("full", #""set":{"kiwi":1000000000}"#)
        cluster.cancel("a")
        sendAndRun("b", "c")
        for _ in 0..<2 { cluster.cancel("a") }
        harness.run()
        #expect(cluster.answers().suffix(2) == ["rejected a again", "rejected a again"])
    }

    @Test(arguments: [SimulatedLog.Call.openChangelog, .readChangelog], [LogError.Remedy.retry, .startOver])
    func aFailedReadIsMadeAgain(call: SimulatedLog.Call, remedy: LogError.Remedy) {
        sendAndRun("a", "b")
        harness.fail(call, with: LogError(remedy, "a test"))
        sendAndRun("a", "c")
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade a again", "juiceMade c"])
    }

    @Test func damageAtAnAnswerStopsItsPartitionAlone() throws {
        sendAndRun("a", "b")
        let offset = try #require(cluster[.results, 0].read().records.first { $0.record.key != nil }).offset
        cluster[.results, 0].damaged = [offset]
        cluster.order("other", "kiwi", partition: 1)
        sendAndRun("a")
        let fault = try #require(harness.fault)
        #expect(fault.kind == .journal && fault.offset == offset)
        #expect(cluster.answers(partition: 1) == ["juiceMade other"])
    }

    /// A second, different answer would be worse than none.
    @Test func anAnswerThatWasDeletedTooEarlyStopsItsPartition() throws {
        sendAndRun("a", "b")
        let last = try #require(cluster[.results, 0].read().records.last { $0.record.key != nil })
        cluster[.results, 0].deleteRecords(before: last.offset)
        sendAndRun("a", "b")
        #expect(cluster.answers() == ["juiceMade b"])
        #expect(harness.fault?.kind == .journal)
    }

    /// Usually the marker of an earlier transaction, which brokers write after they have confirmed its commit.
    @Test func othersRecordsMayStandBetweenAnswers() {
        sendAndRun("a")
        var count = 0
        harness.log.fault = { [cluster, harness] call in
            if call == .produce { count += 1 }
            guard call == .commit, count > 0 else { return nil }
            (count, harness.log.fault) = (0, { _ in nil })
            cluster.deliver()
            cluster.note(#"{"type":"holiday"}"#)
            return nil
        }
        sendAndRun("b", "c")
        let records = cluster.values(.results)
        let places = [#""b""#, "holiday", #""c""#].compactMap { text in records.firstIndex { $0.contains(text) } }
        #expect(places.count == 3 && places == places.sorted())
        sendAndRun("c", "b", "a")
        #expect(
            cluster.answers() == ["a", "b", "c"].map { "juiceMade \($0)" } + ["c", "b", "a"].map { "juiceMade \($0) again" })
        #expect(!harness.hasStartedOver)
    }

    @Test func aWorkerThatIsToStopDoesNotReadOn() {
        sendAndRun("a", "b")
        cluster.order("a", "banana")
        var isReading = false
        harness.log.fault = { call in
            isReading = isReading || call == .openChangelog
            return nil
        }
        while !isReading { harness.step() }
        harness.requestStop()
        #expect(harness.run() == .stopped)
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b"])
    }
}
