import JuiceEngine
import Testing

@testable import simulate

/// The worker's state machine, one event at a time.
@Suite struct WorkerTests {
    @Test func anOrderIsAnsweredAndItsStockWritten() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
        #expect(
            harness.cluster.values(.stock, partition: 0) == [
                #"{"store":"gangnam","revision":1,"stock":{"strawberry":10,"banana":8,"pineapple":10,"kiwi":10,"mango":10}}"#
            ])
    }

    /// The stock topic is a view, written once the answers are committed.
    @Test func stockIsWrittenATransactionLaterThanItsAnswer() {
        let harness = Harness()
        harness.run()
        harness.cluster.order("a", "banana")
        while harness.cluster.answers().isEmpty {
            harness.cluster.writeAllMarkers()
            harness.step()
        }
        #expect(harness.cluster.values(.stock).isEmpty)
        harness.run()
        #expect(harness.cluster.values(.stock).count == 1)
    }

    /// For tools that show the lag. Nothing else reads it.
    @Test func positionsArePublishedToTheGroup() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.run()
        harness.cluster.now += 1_500
        harness.run()
        #expect(harness.cluster.committed(.orders) == 1)
    }

    /// A reader of the journal must not have to read far.
    @Test func aPositionNoteStandsOnceInAThousandRecords() {
        let harness = Harness(maxBatch: 500)
        for number in 0..<5_000 { harness.cluster.order("\(number)", "durian") }
        harness.run(limit: 5_000)
        let isNote = harness.cluster.values(.results).map { $0.hasPrefix(#"{"type":"position""#) }
        let distances = isNote.split(separator: true, omittingEmptySubsequences: false).dropFirst().map(\.count)
        #expect(distances.allSatisfy { $0 < 1_500 } && distances.count >= 4)
    }

    @Test func manyChangesOfAStoreInOneTransactionAreOneStockRecord() {
        let harness = Harness()
        for number in 1...4 { harness.cluster.order("\(number)", "banana") }
        harness.run()
        #expect(harness.cluster.answers().count == 4)
        #expect(harness.cluster.values(.stock, partition: 0).count == 1)
        #expect(harness.cluster.values(.stock, partition: 0).last?.contains(#""revision":4"#) == true)
    }

    @Test func aBatchIsSplitAtItsLimit() {
        let harness = Harness(maxBatch: 3)
        for number in 1...7 { harness.cluster.order("\(number)", "durian") }
        harness.run()
        #expect(harness.transactions.map(\.commands) == [3, 3, 1])
    }

    @Test func aRecordThatNamesNoCommandBecomesADeadLetterUntouched() throws {
        let harness = Harness()
        let trace = MessageHeader(name: "x-till", value: "7")
        harness.cluster.send(.orders, partition: 0, key: "gangnam", value: "juice, please", headers: [trace])
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
        let (offset, letter) = try #require(harness.cluster[.deadLetters, 0].readCommitted().records.first)
        #expect(offset == 0)
        #expect(letter.value.map { String(decoding: $0.view, as: UTF8.self) } == "juice, please")
        #expect(letter.key.map { String(decoding: $0.view, as: UTF8.self) } == "gangnam")
        let headers = Dictionary(
            uniqueKeysWithValues: letter.headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) })
        #expect(headers["x-till"] == "7")
        #expect(headers["juice.error.code"] == "notJSON")
        #expect(headers["juice.source.topic"] == "juice.orders")
        #expect(headers["juice.source.partition"] == "0")
        #expect(headers["juice.source.offset"] == "0")
    }

    @Test func traceHeadersAreCopiedToTheAnswerAndOthersAreNot() throws {
        let harness = Harness()
        let headers = ["traceparent", "x-till", "tracestate"].map { MessageHeader(name: $0, value: "value of \($0)") }
        let answer = try #require(harness.answer(toOrderWith: headers))
        #expect(answer.headers == [headers[0], headers[2]])
        #expect(answer.key.map { String(decoding: $0.view, as: UTF8.self) } == "main")
    }

    /// What is written from then on is the worker's own, and would be fetched for nothing.
    @Test func aCheckOfTheLogsStopsReadingTheJournal() {
        let harness = Harness()
        harness.cluster.order("a", "kiwi")
        harness.run()
        var opened: [String] = []
        harness.log.trace = { if $0.hasPrefix("open ") { opened.append($0) } }
        harness.cluster.now += 3_001
        harness.run()
        #expect(opened.count == 2)
        #expect(opened.last == "open committed: ")
    }
}
