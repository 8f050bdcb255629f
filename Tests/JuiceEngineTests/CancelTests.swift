import JuiceDomain
import JuiceEngine
import Testing

@testable import simulate

/// Orders that are taken back: the contract's table, and what becomes of the id.
@Suite struct CancelTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    /// The value of the last answer, without its head.
    private var last: Substring {
        let value = cluster.answerValues().last ?? ""
        return value.firstRange(of: /"store":"gangnam","offset":\d+,/).map { value[$0.upperBound...] } ?? value[...]
    }

    private var stock: String { cluster.values(.stock).last ?? "" }

    @Test func whatWasMadeGoesBack() {
        cluster.order("a", "kiwi", quantity: 2)
        cluster.cancel("a")
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "cancelled a"])
        #expect(last == #""returned":{"kiwi":6},"left":{"kiwi":10},"revision":2,"message":"cancelled: kiwi 6 returned"}"#)
        #expect(stock.contains(#""revision":2"#) && stock.contains(#""kiwi":10"#))
    }

    @Test func aBasketGoesBackAsAWhole() {
        cluster.basket("a", #"{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}"#)
        cluster.cancel("a")
        harness.run()
        #expect(
            last == #""returned":{"kiwi":6,"strawberry":10,"banana":1},"left":{"kiwi":10,"strawberry":10,"banana":10},"#
                + #""revision":2,"message":"cancelled: kiwi 6, strawberry 10, banana 1 returned"}"#)
    }

    @Test(arguments: [("strawberry", "outOfStock a"), ("durian", "rejected a")])
    func whatWasNotMadeReturnsNothing(juice: String, answer: String) {
        cluster.order("a", juice)
        cluster.cancel("a")
        cluster.order("a", juice)
        harness.run()
        #expect(cluster.answers() == [answer, "cancelled a", "rejected a"])
        #expect(cluster.answerValues()[1].contains(#""returned":{},"left":{},"message":"#))
        #expect(last == #""reason":"cancelled","message":"the order was cancelled"}"#)
        #expect(cluster.values(.stock).isEmpty)
    }

    @Test func aDeadOrderStaysDead() {
        cluster.order("a", "kiwi")
        cluster.cancel("a")
        cluster.order("a", "kiwi")
        cluster.basket("a", #"{"juice":"banana"}"#)
        cluster.cancel("a")
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "cancelled a", "rejected a", "rejected a", "cancelled a again"])
        #expect(last.contains(#""returned":{"kiwi":3},"left":{"kiwi":10},"revision":2"#))
        #expect(stock.contains(#""revision":2"#))
    }

    @Test func aCancelThatWouldOverflowLeavesTheOrderMade() {
        cluster.order("a", "kiwi")
        harness.run()
        cluster.restock("full", #""set":{"kiwi":\#(FruitStore.maximumLevel - 2)}"#)
        harness.run()
        for _ in 0..<2 { cluster.cancel("a") }
        harness.run()
        cluster.restock("less", #""set":{"kiwi":0}"#)
        harness.run()
        cluster.cancel("a")
        cluster.order("a", "kiwi")
        harness.run()
        #expect(
            cluster.answers() == [
                "juiceMade a", "restocked full", "rejected a", "rejected a again", "restocked less",
                "rejected a again", "juiceMade a again",
            ]
        )
        #expect(cluster.answerValues()[2].contains(#""reason":"wouldOverflow""#))
        #expect(stock.contains(#""revision":3"#))
    }

    /// A minute of window: when the order, the cancel and the order's repeat were sent, in seconds, and the answers.
    @Test(
        arguments: [
            // Within both windows.
            (0, 30, 50, ["juiceMade a", "cancelled a", "rejected a"]),
            // The order's window is over when it is cancelled, the cancel's is not when the order is repeated.
            (0, 70, 120, ["juiceMade a", "cancelled a", "rejected a"]),
            // The cancel's window is over, too.
            (0, 30, 95, ["juiceMade a", "cancelled a", "juiceMade a"]),
            // The cancel was sent before the order: the id stays dead for as long as the order would have been known.
            (40, 0, 90, ["juiceMade a", "cancelled a", "rejected a"]),
        ] as [(Timestamp, Timestamp, Timestamp, [String])]
    )
    func theWindowCountsFromTheLaterOfBoth(
        order: Timestamp,
        cancel: Timestamp,
        again: Timestamp,
        answers: [String]
    ) {
        let cluster = SimulatedCluster(partitionCount: 1)
        let harness = Harness(cluster, window: DuplicateWindow(age: 60_000, count: 1000))
        let start = cluster.now - 3_600_000
        cluster.order("a", "kiwi", timestamp: start + order * 1000)
        cluster.cancel("a", timestamp: start + cancel * 1000)
        cluster.order("a", "kiwi", timestamp: start + again * 1000)
        harness.run()
        #expect(cluster.answers() == answers)
    }

    @Test func aCancelOfAnOrderWhoseWindowIsOverReturnsNothing() {
        let cluster = SimulatedCluster(partitionCount: 1)
        let harness = Harness(cluster, window: DuplicateWindow(age: 60_000, count: 1000))
        let start = cluster.now - 3_600_000
        cluster.order("a", "kiwi", timestamp: start)
        cluster.cancel("a", timestamp: start + 61_000)
        harness.run()
        #expect(cluster.answerValues().last?.contains(#""returned":{},"left":{}"#) == true)
    }

    /// Its answers are known by their templates.
    @Test func aSuccessorOfAnotherLanguageOrMenuCancelsAsWell() {
        for value in [
            #"{"type":"juiceMade","orderId":"a","store":"gangnam","offset":0,"juice":"kiwi","quantity":2,"used":{"kiwi":6},"#
                + #""left":{"kiwi":4},"revision":1,"message":"키위쥬스 2잔 나왔습니다! 맛있게 드세요!"}"#,
            #"{"type":"juiceMade","orderId":"a","store":"gangnam","offset":0,"juice":"durian","quantity":2,"used":{"durian":6,"kiwi":6},"#
                + #""left":{"durian":0,"kiwi":4},"revision":1,"message":"juice made: 2 × durian juice"}"#,
        ] {
            let cluster = SimulatedCluster(partitionCount: 1)
            cluster.order("a", "kiwi", quantity: 2)
            cluster.claim()
            cluster.send(.results, partition: 0, key: "gangnam", value: value)
            let harness = Harness(cluster)
            cluster.cancel("a")
            harness.run()
            #expect(cluster.answers().last == "cancelled a")
            #expect(cluster.answerValues().last?.contains(#""returned":{"kiwi":6},"left":{"kiwi":10}"#) == true)
        }
        let cluster = SimulatedCluster(partitionCount: 1)
        cluster.claim()
        cluster.send(
            .results, partition: 0, key: "gangnam",
            value:
                #"{"type":"cancelled","orderId":"a","store":"gangnam","offset":0,"returned":{},"left":{},"message":"취소했어요. 되돌린 재고가 없습니다."}"#
        )
        let harness = Harness(cluster)
        cluster.cancel("a")
        cluster.order("a", "kiwi")
        cluster.cancel("a")
        harness.run()
        #expect(cluster.answers().suffix(2) == ["rejected a", "cancelled a again"])
    }
}

/// Baskets, and the revisions of a store.
@Suite struct BasketTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    /// A mango kiwi juice takes a kiwi, a kiwi juice three: of ten kiwis, three kiwi juices and a mango kiwi juice are made only
    /// if nobody judges item by item and forgets the others.
    @Test(arguments: [(3, 1, "juiceMade a"), (3, 2, "outOfStock a"), (2, 4, "juiceMade a")])
    func itemsAreJudgedTogether(kiwi: Int, mangoKiwi: Int, answer: String) {
        cluster.basket(
            "a",
            #"{"juice":"kiwi","quantity":\#(kiwi)},{"juice":"mangoKiwi","quantity":\#(mangoKiwi)}"#
        )
        harness.run()
        #expect(cluster.answers() == [answer])
        #expect(cluster.values(.stock).count == (answer == "juiceMade a" ? 1 : 0))
    }

    @Test func aRepeatedBasketGetsItsFirstAnswer() {
        cluster.restock("all", #""set":{"strawberry":900000000,"banana":900000000,"kiwi":900000000,"mango":900000000}"#)
        harness.run()
        let items = ["kiwi", "banana", "strawberry", "mango", "mangoKiwi", "strawberryBanana"]
        for _ in 0..<2 {
            cluster.basket("a", items.map { #"{"juice":"\#($0)","quantity":99}"# }.joined(separator: ","))
            harness.run()
        }
        let answers = cluster.answerValues().suffix(2)
        #expect(answers.first?.contains(#""revision":2"#) == true)
        #expect(
            answers.last
                == answers.first?.replacing(#"{"type":"juiceMade""#, with: #"{"type":"juiceMade","duplicate":true"#).replacing(
                    #""offset":0"#, with: #""offset":1"#))
    }

    @Test func everyChangeHasTheNextRevisionAndNothingElseHasOne() {
        cluster.order("a", "kiwi")
        cluster.order("b", "strawberry")
        cluster.order("c", "durian")
        cluster.order("d", "banana")
        harness.run()
        cluster.restock("e", #""add":{"kiwi":0}"#)
        harness.run()
        cluster.cancel("d")
        cluster.cancel("f")
        cluster.order("a", "kiwi")
        cluster.order("g", "kiwi")
        harness.run()
        let revisions = cluster.answerValues().map { value in value.firstMatch(of: /"revision":(\d+)/).map { String($0.1) } ?? "-" }
        #expect(revisions == ["1", "-", "-", "2", "3", "4", "-", "1", "5"])
    }
}
