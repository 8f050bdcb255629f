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
        #expect(cluster.answers() == ["juiceMade a"])
        #expect(cluster.values(.stock).isEmpty)
        harness.run()
        let stock = #"{"store":"gangnam","revision":1,"stock":{"strawberry":10,"banana":8,"pineapple":10,"kiwi":10,"mango":10}}"#
        #expect(cluster.values(.stock) == [stock])
    }

    /// For tools that show the lag, and for a successor that checks whether the journal lost its end.
    @Test func positionsArePublishedToTheGroup() {
        harness.order("a", "banana")
        cluster.now += 1_500
        harness.run()
        #expect(cluster.committedOrders == 1)
    }

    /// Records of an aborted transaction need no answer, but would count as lag until the next order.
    @Test func publishesPositionsPastAbortedRecords() {
        harness.order("a", "banana")
        cluster.now += 1_500
        harness.run()
        cluster.beginForeignTransaction(in: Place(topic: .orders, partition: 0))
        cluster.endForeignTransactions()
        harness.run()
        cluster.now += 1_500
        harness.run()
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

    @Test func manyChangesOfAStoreInOneTransactionAreOneStockRecord() {
        for number in 1...4 { cluster.order("\(number)", "banana") }
        harness.run()
        #expect(cluster.answers().count == 4)
        #expect(cluster.values(.stock).count == 1)
        #expect(cluster.values(.stock).last?.contains(#""revision":4"#) == true)
    }

    @Test func aBatchIsSplitAtItsLimit() {
        let harness = Harness(maxBatch: 3)
        for number in 1...7 { harness.cluster.order("\(number)", "durian") }
        harness.run()
        #expect(harness.transactions.map(\.commands) == [3, 3, 1])
    }

    @Test func aRecordThatNamesNoCommandBecomesADeadLetterUntouched() throws {
        cluster.send(.orders, key: "gangnam", "juice, please", headers: [MessageHeader(name: "x-till", value: "7")])
        harness.order("a", "banana")
        #expect(cluster.answers() == ["juiceMade a"])
        let letter = try #require(cluster.records(.deadLetters).first)
        #expect(letter.text == "juice, please")
        #expect(letter.key.map { String(decoding: $0.view, as: UTF8.self) } == "gangnam")
        for (name, value) in [
            "x-till": "7", "juice.error.code": "notJSON", "juice.source.topic": "juice.orders", "juice.source.partition": "0",
            "juice.source.offset": "0",
        ] {
            #expect(letter.headers.contains(MessageHeader(name: name, value: value)), "\(name)")
        }
    }

    @Test func traceHeadersAreCopiedToTheAnswerAndOthersAreNot() throws {
        let headers = ["traceparent", "x-till", "tracestate"].map { MessageHeader(name: $0, value: "value of \($0)") }
        cluster.send(.orders, key: nil, #"{"orderId":"a","juice":"kiwi"}"#, headers: headers)
        harness.run()
        let answer = try #require(cluster.answerRecords().first)
        #expect(answer.headers == [headers[0], headers[2]])
        #expect(answer.key.map { String(decoding: $0.view, as: UTF8.self) } == "main")
    }

    /// All later records are the worker's own: fetching them would be wasted.
    @Test func aCheckOfTheLogsStopsReadingTheJournal() {
        harness.order("a", "kiwi")
        var opened: [String] = []
        harness.log.trace = { if $0.hasPrefix("open ") { opened.append($0) } }
        cluster.now += 3_001
        harness.run()
        #expect(opened.count == 2)
        #expect(opened.last == "open uncommitted: ")
    }
}
