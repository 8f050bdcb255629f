import JuiceEngine
import JuiceSimulation
import Testing

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
            ]
        )
        #expect(harness.cluster.committed(.orders) == 1)
    }

    @Test func manyChangesOfAStoreInOneTransactionAreOneStockRecord() {
        let harness = Harness()
        for number in 1...4 { harness.cluster.order("\(number)", "banana") }
        harness.run()
        #expect(harness.cluster.answers().count == 4)
        #expect(harness.cluster.values(.stock, partition: 0).count == 1)
        #expect(harness.cluster.values(.stock, partition: 0).last?.contains(#""revision":4"#) == true)
    }

    @Test func anAnswerThatChangesNothingWritesNoStock() {
        let harness = Harness()
        harness.cluster.order("a", "strawberry")
        harness.cluster.order("b", "durian")
        harness.run()
        #expect(harness.cluster.answers() == ["outOfStock a", "rejected b"])
        #expect(harness.cluster.values(.stock, partition: 0).isEmpty)
    }

    @Test func ordersAndRestocksOfAStoreShareItsStock() {
        let harness = Harness()
        harness.cluster.order("a", "strawberry")
        harness.run()
        harness.cluster.restock("r", #""add":{"strawberry":6}"#)
        harness.run()
        harness.cluster.order("b", "strawberry")
        harness.run()
        #expect(harness.cluster.answers() == ["outOfStock a", "restocked r", "juiceMade b"])
    }

    @Test func aBatchIsSplitAtItsLimit() {
        let harness = Harness(maxBatch: 3)
        for number in 1...7 { harness.cluster.order("\(number)", "durian") }
        harness.run()
        let sizes = harness.events.compactMap {
            if case .committed(let summary) = $0 { summary.commands } else { nil }
        }
        // The first transaction claims the partition.
        #expect(sizes == [0, 3, 3, 1])
    }

    @Test func aRecordThatNamesNoCommandBecomesADeadLetterUntouched() throws {
        let harness = Harness()
        let trace = RecordHeader(name: "x-till", value: "7")
        harness.cluster.send(.orders, partition: 0, key: "gangnam", value: "juice, please", headers: [trace])
        harness.cluster.order("a", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
        let (offset, letter) = try #require(
            harness.cluster[.deadLetters, 0].readCommitted().records.first
        )
        #expect(offset == 0)
        #expect(letter.value.map { String(decoding: $0.view, as: UTF8.self) } == "juice, please")
        #expect(letter.key.map { String(decoding: $0.view, as: UTF8.self) } == "gangnam")
        let headers = Dictionary(
            uniqueKeysWithValues: letter.headers.map {
                ($0.name, String(decoding: $0.value ?? [], as: UTF8.self))
            }
        )
        #expect(headers["x-till"] == "7")
        #expect(headers["juice.error.code"] == "notJSON")
        #expect(headers["juice.source.topic"] == "juice.orders")
        #expect(headers["juice.source.partition"] == "0")
        #expect(headers["juice.source.offset"] == "0")
    }

    @Test func aKeyThatNamesNoStoreMakesADeadLetter() {
        let harness = Harness()
        harness.cluster.send(
            .orders,
            partition: 0,
            key: String(repeating: "x", count: 129),
            value: #"{"orderId":"a","juice":"kiwi"}"#
        )
        harness.run()
        #expect(harness.cluster.answers().isEmpty)
        #expect(harness.cluster.values(.deadLetters).count == 1)
    }

    @Test func traceHeadersAreCopiedToTheAnswerAndOthersAreNot() throws {
        let harness = Harness()
        let headers = ["traceparent", "x-till", "tracestate"].map {
            RecordHeader(name: $0, value: "value of \($0)")
        }
        let answer = try #require(harness.answer(toOrderWith: headers))
        #expect(answer.headers == [headers[0], headers[2]])
        #expect(answer.key.map { String(decoding: $0.view, as: UTF8.self) } == "main")
    }
}
