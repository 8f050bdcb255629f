import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Repeats whose first answers are no longer in memory.
@Suite struct ReadBackTests {
    private let cluster = SimulatedCluster(partitionCount: 2)
    /// A worker that keeps only the last answer of each partition in memory.
    private let harness: Harness

    init() { harness = Harness(cluster, answerBytes: 0) }

    private var readBackCount: Int { harness.transactions.reduce(0) { $0 + $1.answersReadBack } }

    private func sendAndRun(_ ids: String...) {
        for id in ids { cluster.order(id, "banana") }
        harness.run()
    }

    /// The expected answer to a repeat at this offset: the first answer, marked as a duplicate.
    private func again(_ answer: String, at offset: Int) -> String {
        answer.replacing(#","orderId""#, with: #","duplicate":true,"orderId""#)
            .replacing(/"offset":[0-9]+/, with: #""offset":\#(offset)"#)
    }

    @Test func aRepeatGetsItsAnswerFromTheJournal() {
        sendAndRun("a", "b", "c")
        harness.restock("fill", #""add":{"kiwi":1}"#)
        let first = cluster.answerValues()
        for id in ["b", "a"] { cluster.order(id, "kiwi", 3) }
        harness.run()
        #expect(cluster.answerValues().dropFirst(4) == [again(first[1], at: 3), again(first[0], at: 4)])
        #expect(readBackCount == 2)
        // Now both are in memory.
        sendAndRun("a", "b")
        #expect(cluster.answers().suffix(2) == ["made a again", "made b again"])
        #expect(readBackCount == 2)
    }

    /// Commands before the repeat are committed first, later ones wait their turn, and other partitions go on.
    @Test func commandsKeepTheirOrder() {
        sendAndRun("a", "b")
        cluster.order("other", "kiwi", partition: 1)
        sendAndRun("c", "a", "d")
        #expect(cluster.answers() == ["made a", "made b", "made c", "made a again", "made d"])
        #expect(cluster.answers(partition: 1) == ["made other"])
        // In two transactions: with the first record of each partition, and with the rest.
        #expect(harness.transactions.count == 3)
    }

    @Test(arguments: [SimulatedPort.Call.openChangelog, .readChangelog], [LogError.Remedy.retry, .startOver])
    func aFailedReadIsMadeAgain(call: SimulatedPort.Call, remedy: LogError.Remedy) {
        sendAndRun("a", "b")
        harness.fail(call, with: LogError(remedy, "a test"))
        sendAndRun("a", "c")
        #expect(cluster.answers() == ["made a", "made b", "made a again", "made c"])
    }

    @Test func damageAtAnAnswerStopsItsPartitionAlone() throws {
        sendAndRun("a", "b")
        let offset = try #require(cluster[.results, 0].read().records.first { $0.record.key != nil }).offset
        cluster[.results, 0].damaged = [offset]
        cluster.order("other", "kiwi", partition: 1)
        sendAndRun("a")
        let fault = try #require(harness.fault)
        #expect(fault.kind == .journal && fault.offset == offset)
        #expect(cluster.answers(partition: 1) == ["made other"])
    }

    // MARK: - Lost answers

    /// Deletes the answers before the last one.
    private func trim() throws {
        let last = try #require(cluster[.results, 0].read().records.last { $0.record.key != nil })
        cluster[.results, 0].deleteRecords(before: last.offset)
    }

    /// A second, different answer would be worse than none. The batch's other commands get their answers.
    @Test func answersARepeatOfADeletedAnswerAsLost() throws {
        sendAndRun("a", "b")
        try trim()
        sendAndRun("a", "b", "c", "a")
        let lostOne = "lost (made) a again"
        #expect(cluster.answers() == ["made b", lostOne, "made b again", "made c", lostOne])
        let lost =
            #"{"type":"answerLost","duplicate":true,"orderId":"a","store":"\#(cluster.store(in: 0))","offset":2,"#
            + #""was":"made","message":"answered before as \"made\"; the first answer is lost"}"#
        #expect(cluster.answerValues()[1] == lost)
        #expect(harness.restarts == 0 && harness.fault == nil)
        #expect(harness.transactions.reduce(0) { $0 + $1.answers[.answerLost] } == 2)
    }

    /// Several lost answers cost one read, and the answers after them are read back.
    @Test func readsBackTheRemainingAnswersAtOnce() throws {
        sendAndRun("a", "b", "c", "d")
        let answers = cluster[.results, 0].read().records.filter { $0.record.key != nil }
        cluster[.results, 0].deleteRecords(before: answers[2].offset)
        sendAndRun("c", "b", "a")
        #expect(cluster.answers().suffix(3) == ["made c again", "lost (made) b again", "lost (made) a again"])
        #expect(readBackCount == 1)
    }

    /// What an order took is unknown, so it stays made.
    @Test func doesNotCancelAMadeOrderWithALostAnswer() throws {
        harness.order("made", "kiwi")
        harness.order("short", "kiwi", 100)
        cluster.cancel("early")
        sendAndRun("last")
        try trim()
        let stock = cluster.values(.stock)
        for _ in 0..<2 { for id in ["made", "short", "early"] { cluster.cancel(id) } }
        cluster.order("made", "kiwi")
        cluster.order("short", "kiwi")
        harness.run()
        #expect(
            cluster.answers().dropFirst() == [
                "lost (made) made again", "cancelled short", "lost (cancelled) early again",
                "lost (made) made again", "cancelled short again", "lost (cancelled) early again",
                "lost (made) made again", "rejected short",
            ])
        #expect(cluster.answerValues()[1].contains(#","cancel":true,"was":"made","#))
        #expect(cluster.values(.stock) == stock)
    }

    /// The order stays made, and the answer to the repeated cancel says so.
    @Test func anOrderStaysMadeAfterALostCancelRejection() throws {
        harness.order("a", "kiwi")
        harness.restock("full", #""set":{"kiwi":1000000000}"#)
        cluster.cancel("a")
        sendAndRun("last")
        try trim()
        cluster.cancel("a")
        sendAndRun("a")
        #expect(cluster.answers().dropFirst() == ["lost (made) a again", "lost (made) a again"])
    }

    /// Once an operator has accepted the loss, `answerLost` records take the place of the lost answers.
    @Test func aRestoreStillKnowsWhatWasLost() throws {
        harness.order("made", "kiwi")
        harness.order("short", "kiwi", 100)
        cluster.cancel("early")
        sendAndRun("last")
        try trim()
        for id in ["made", "short"] { cluster.order(id, "kiwi") }
        cluster.cancel("early")
        sendAndRun("made")
        harness.runAndLeave()

        let second = Harness(cluster, member: "second", answerBytes: 0)
        second.run()
        let fault = try #require(second.fault)
        second.log.leave(handsOver: true)
        for anchor in fault.anchors { try cluster.anchor(anchor) }

        let third = Harness(cluster, member: "third", answerBytes: 0)
        third.run()
        #expect(third.fault == nil)
        let count = cluster.answers().count
        for id in ["short", "made", "early"] { cluster.order(id, "kiwi") }
        for id in ["early", "made", "short"] { cluster.cancel(id) }
        third.run()
        #expect(
            cluster.answers().dropFirst(count) == [
                "lost (notMade) short again", "lost (made) made again", "rejected early",
                "lost (cancelled) early again", "lost (made) made again", "cancelled short",
            ])
    }

    /// They would fill the memory: then `last` would be made again.
    @Test func aRestoreRemembersALostAnswerOnce() throws {
        sendAndRun("a", "last")
        try trim()
        for _ in 0..<3 { sendAndRun("a") }
        harness.runAndLeave()
        let window = DuplicateWindow(age: DuplicateWindow.standard.age, count: 2)
        let second = Harness(cluster, member: "second", window: window, answerBytes: 0)
        second.run()
        let fault = try #require(second.fault)
        second.log.leave(handsOver: true)
        for anchor in fault.anchors { try cluster.anchor(anchor) }

        let third = Harness(cluster, member: "third", window: window, answerBytes: 0)
        third.order("last", "kiwi")
        #expect(cluster.answers().last == "made last again")
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
        #expect(cluster.answers() == ["made a", "made b"])
    }
}
