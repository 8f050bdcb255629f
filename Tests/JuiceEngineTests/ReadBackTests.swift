import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Repeats whose first answers are no longer in memory.
@Suite struct ReadBackTests {
    private let cluster = SimulatedCluster(partitionCount: 2)

    /// A worker with room for the last answer of each partition alone.
    private func harness(maxBatch: Int = 100) -> Harness {
        Harness(cluster, maxBatch: maxBatch, answerBytes: 0)
    }

    private func readBackCount(_ harness: Harness) -> Int {
        harness.transactions.reduce(0) { $0 + $1.answersReadBack }
    }

    @Test func aRepeatGetsItsAnswerFromTheJournal() {
        let harness = harness()
        for id in ["a", "b", "c"] { cluster.order(id, "banana") }
        cluster.restock("fill", #""add":{"kiwi":1}"#)
        harness.run()
        let first = cluster.answerValues()
        for id in ["b", "a"] { cluster.order(id, "kiwi", quantity: 3) }
        harness.run()
        let again = cluster.answerValues().dropFirst(4)
        #expect(
            Array(again)
                == [(1, 3), (0, 4)].map { index, offset in
                    first[index].replacing(#""type":"juiceMade""#, with: #""type":"juiceMade","duplicate":true"#).replacing(
                        #""offset":\#(index)"#, with: #""offset":\#(offset)"#)
                })
        #expect(readBackCount(harness) == 2)
        // They are at hand now.
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        #expect(cluster.answers().suffix(2) == ["juiceMade a again", "juiceMade b again"])
        #expect(readBackCount(harness) == 2)
    }

    /// What was read before the repeat is committed first, other partitions go on, and what comes after it waits its turn.
    @Test func commandsKeepTheirOrder() {
        let harness = harness()
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster.order("c", "kiwi")
        cluster.order("a", "banana")
        cluster.order("d", "kiwi")
        cluster.order("other", "kiwi", partition: 1)
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade c", "juiceMade a again", "juiceMade d"])
        #expect(cluster.answers(partition: 1) == ["juiceMade other"])
        // In two transactions: with the first record of each partition, and with the rest.
        #expect(harness.transactions.count == 3)
    }

    @Test func aRepeatWithinALargeTransactionWaitsForTheNext() {
        let harness = harness()
        for id in ["a", "b", "c", "a", "d"] { cluster.order(id, "banana") }
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade c", "juiceMade a again", "juiceMade d"])
    }

    @Test func aCancelFindsWhatItsOrderTook() {
        let harness = harness()
        cluster.basket("a", #"{"juice":"kiwi","quantity":2},{"juice":"banana"}"#)
        cluster.cancel("early")
        cluster.order("b", "banana")
        harness.run()
        for _ in 0..<2 { for id in ["a", "early"] { cluster.cancel(id) } }
        cluster.order("a", "kiwi")
        cluster.order("c", "banana")
        harness.run()
        #expect(
            cluster.answers().dropFirst(3) == [
                "cancelled a", "cancelled early again", "cancelled a again", "cancelled early again",
                "rejected a",
                "juiceMade c",
            ]
        )
        #expect(cluster.answerValues()[3].contains(#""returned":{"kiwi":6,"banana":2}"#))
    }

    /// Its order's answer, and that of the first cancel.
    @Test func aCancelThatNeedsTwoAnswersGetsBoth() {
        let harness = harness()
        cluster.order("a", "kiwi")
        harness.run()
        cluster.restock("full", #""set":{"kiwi":1000000000}"#)
        harness.run()
        cluster.cancel("a")
        for id in ["b", "c"] { cluster.order(id, "banana") }
        harness.run()
        for _ in 0..<2 { cluster.cancel("a") }
        harness.run()
        #expect(cluster.answers().suffix(2) == ["rejected a again", "rejected a again"])
    }

    @Test(arguments: [SimulatedLog.Call.openChangelog, .readChangelog], [LogError.Remedy.retry, .startOver])
    func aFailedReadIsMadeAgain(call: SimulatedLog.Call, remedy: LogError.Remedy) {
        let harness = harness()
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster.order("a", "banana")
        cluster.order("c", "banana")
        harness.fail(call, with: LogError(remedy, "a test"))
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b", "juiceMade a again", "juiceMade c"])
    }

    @Test func damageAtAnAnswerStopsItsPartitionAlone() throws {
        let harness = harness()
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        let place = try #require(cluster[.results, 0].readCommitted().records.first { $0.record.key != nil }).offset
        cluster[.results, 0].damage(place)
        cluster.order("a", "banana")
        cluster.order("other", "kiwi", partition: 1)
        harness.run()
        let fault = try #require(harness.fault)
        #expect(fault.kind == .journal && fault.offset == place)
        #expect(cluster.answers(partition: 1) == ["juiceMade other"])
    }

    /// As after a restart: what has expired is not remembered.
    @Test func anExpiredAnswerIsForgotten() throws {
        let harness = harness()
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        let last = try #require(cluster[.results, 0].readCommitted().records.last { $0.record.key != nil })
        cluster[.results, 0].deleteRecords(before: last.offset)
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        #expect(cluster.answers() == ["juiceMade b", "juiceMade a", "juiceMade b again"])
    }

    /// Usually the marker of an earlier transaction, which brokers write after they have confirmed its commit.
    @Test func othersRecordsMayStandBetweenAnswers() {
        let harness = harness()
        cluster.order("a", "banana")
        harness.run()
        for id in ["b", "c"] { cluster.order(id, "banana") }
        var count = 0
        harness.log.fault = { [cluster] call in
            if call == .produce { count += 1 }
            guard call == .commit, count > 0 else { return nil }
            (count, harness.log.fault) = (0, { _ in nil })
            cluster.deliver()
            cluster.send(.results, partition: 0, key: nil, value: #"{"type":"holiday"}"#)
            return nil
        }
        harness.run()
        let records = cluster.values(.results, partition: 0)
        let places = [#""b""#, "holiday", #""c""#].compactMap { text in records.firstIndex { $0.contains(text) } }
        #expect(places.count == 3 && places == places.sorted())
        for id in ["c", "b", "a"] { cluster.order(id, "banana") }
        harness.run()
        #expect(
            cluster.answers() == [
                "juiceMade a", "juiceMade b", "juiceMade c", "juiceMade c again", "juiceMade b again",
                "juiceMade a again",
            ]
        )
        #expect(!harness.hasStartedOver)
    }

    @Test func aWorkerThatIsToStopDoesNotReadOn() {
        let harness = harness()
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
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
