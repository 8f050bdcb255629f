import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// The worker's state machine, one event at a time.
@Suite struct WorkerTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    /// Stock is written after its answers are committed. A successor with another menu cannot derive the levels from the answers
    /// alone.
    @Test func writesDueStockBeforeStopping() {
        let harness = Harness()
        harness.run()
        harness.cluster.order("a", "kiwi")
        for _ in 0..<20 where harness.transactions.isEmpty { harness.step() }
        #expect(harness.cluster.values(.stock).isEmpty)
        harness.requestStop()
        #expect(harness.run() == .stopped)
        #expect(harness.cluster.values(.stock).count == 1)
    }

    @Test func anOrderIsAnsweredAndItsStockWrittenATransactionLater() {
        cluster.order("a", "banana")
        while cluster.answers().isEmpty {
            cluster.writeAllMarkers()
            harness.step()
        }
        #expect(cluster.answers() == ["made a"])
        #expect(cluster.values(.stock).isEmpty)
        harness.run()
        let stock = #"{"store":"gangnam","revision":1,"stock":{"strawberry":10,"banana":8,"pineapple":10,"kiwi":10,"mango":10}}"#
        #expect(cluster.values(.stock) == [stock])
    }

    /// For tools that show the lag, and for a successor that checks whether the journal lost its end. Records of an aborted
    /// transaction need no answer, but would count as lag until the next order.
    @Test func publishesPositionsAlsoPastAbortedRecords() {
        harness.order("a", "banana")
        harness.run(after: 1_500)
        #expect(cluster.committedOrders == 1)
        cluster.beginForeignTransaction(in: Place(topic: .orders, partition: 0))
        cluster.endForeignTransactions()
        harness.run()
        harness.run(after: 1_500)
        #expect(cluster.committedOrders == 3)
    }

    /// The notes bound how far back a takeover has to read.
    @Test func writesAPositionNoteEveryThousandRecords() {
        let harness = Harness(maxBatch: 500)
        for number in 0..<5_000 { harness.cluster.order("\(number)", "durian") }
        harness.run(limit: 5_000)
        let isNote = harness.cluster.values(.results).map { $0.hasPrefix(#"{"type":"position""#) }
        let distances = isNote.split(separator: true, omittingEmptySubsequences: false).dropFirst().map(\.count)
        #expect(distances.allSatisfy { $0 < 1_500 } && distances.count >= 4)
    }

    @Test func transactionsBeginAnIntervalApart() {
        let harness = Harness(maxBatch: 3, commitInterval: 50)
        func send(_ ids: String...) { for id in ids { harness.cluster.order(id, "kiwi") } }
        func work() -> Worker<SimulatedPort>.Step {
            var step = harness.step()
            while step == .worked { step = harness.step() }
            return step
        }
        var sizes: [Int] { harness.transactions.map(\.commands) }
        harness.run()
        send("a")
        #expect(work() == .waiting(50))
        #expect(sizes == [1], "the first command after a pause does not wait")
        send("b")
        harness.cluster.now += 49
        send("c")
        #expect(work() == .waiting(1))
        harness.cluster.now += 1
        #expect(work() == .waiting(50))
        #expect(sizes == [1, 2])
        harness.run()
        send("d", "e", "f", "g")
        #expect(work() == .waiting(50))
        #expect(sizes == [1, 2, 3, 1], "a full transaction is followed at once")
    }

    @Test func someTraceHeadersAreCopiedToTheAnswerAndNoOthers() {
        let headers = ["traceparent", "x-till", "tracestate"].map { MessageHeader(name: $0, value: "value of \($0)") }
        let large = MessageHeader(name: "tracestate", value: String(repeating: "x", count: 8 * 1024))
        cluster.order("a", "kiwi", headers: headers)
        for header in [headers[0], large] { cluster.order("b", "kiwi", headers: Array(repeating: header, count: 200)) }
        harness.run()
        #expect(cluster.answerRecords().first?.headers == [headers[0], headers[2]])
        #expect(cluster.answerRecords().map(\.headers.count) == [2, 8, 2])
    }

    /// All later records are the worker's own: fetching them would be wasted.
    @Test func aCheckOfTheLogsStopsReadingTheJournal() {
        harness.order("a", "kiwi")
        var opened: [String] = []
        harness.log.trace = { if $0.hasPrefix("open ") { opened.append($0) } }
        harness.run(after: 3_001)
        #expect(opened.count == 2)
        #expect(opened.last == "open uncommitted: ")
    }
}
