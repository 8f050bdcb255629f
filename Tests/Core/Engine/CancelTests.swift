import JuiceDomain
import JuiceEngine
import Testing

@testable import simulate

/// Cancelled orders: the contract's table, and what becomes of their ids.
@Suite struct CancelTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    /// The value of the last answer, without its head.
    private var last: Substring {
        let value = cluster.answerValues().last ?? ""
        return value.firstRange(of: /"store":"gangnam","offset":\d+,/).map { value[$0.upperBound...] } ?? value[...]
    }

    private var stock: String { cluster.values(.stock).last ?? "" }

    @Test func returnsTheFruitOfAMadeOrder() {
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
    func anUnmadeOrderReturnsNothing(juice: String, answer: String) {
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
        harness.order("a", "kiwi")
        harness.restock("full", #""set":{"kiwi":\#(FruitStore.maximumLevel - 2)}"#)
        for _ in 0..<2 { cluster.cancel("a") }
        harness.run()
        harness.restock("less", #""set":{"kiwi":0}"#)
        cluster.cancel("a")
        harness.order("a", "kiwi")
        let answers = [
            "juiceMade a", "restocked full", "rejected a", "rejected a again", "restocked less", "rejected a again",
            "juiceMade a again",
        ]
        #expect(cluster.answers() == answers)
        #expect(cluster.answerValues()[2].contains(#""reason":"wouldOverflow""#))
        #expect(stock.contains(#""revision":3"#))
    }

    /// With a window of a minute: when order, cancel and repeated order were sent, in seconds, what the cancel returned, and the
    /// answer to the repeat.
    @Test(
        arguments: [
            // Within both windows.
            (0, 30, 50, #"{"kiwi":3}"#, "rejected a"),
            // The order's window is over at the cancel, but the cancel's is not at the repeat.
            (0, 70, 120, "{}", "rejected a"),
            // The cancel's window is over, too.
            (0, 30, 95, #"{"kiwi":3}"#, "juiceMade a"),
            // The cancel was sent before the order: the id stays dead for as long as the order would have been known.
            (40, 0, 90, #"{"kiwi":3}"#, "rejected a"),
        ] as [(Timestamp, Timestamp, Timestamp, String, String)]
    )
    func theWindowCountsFromTheLaterOfBoth(order: Timestamp, cancel: Timestamp, again: Timestamp, returned: String, answer: String)
    {
        let harness = Harness(partitions: 1, window: DuplicateWindow(age: 60_000, count: 1000))
        let (cluster, start) = (harness.cluster, harness.cluster.now - 3_600_000)
        cluster.order("a", "kiwi", timestamp: start + order * 1000)
        cluster.cancel("a", timestamp: start + cancel * 1000)
        cluster.order("a", "kiwi", timestamp: start + again * 1000)
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "cancelled a", answer])
        #expect(cluster.answerValues()[1].contains(#""returned":\#(returned),"#))
    }

    /// A cancel returns what the order used, whatever the language and menu of the answer.
    @Test(arguments: [
        (#""juice":"kiwi","quantity":2,"used":{"kiwi":6},"left":{"kiwi":4},"#, "키위쥬스 2잔 나왔습니다! 맛있게 드세요!"),
        (
            #""juice":"durian","quantity":2,"used":{"durian":6,"kiwi":6},"left":{"durian":0,"kiwi":4},"#,
            "juice made: 2 × durian juice"
        ),
    ])
    func aSuccessorOfAnotherLanguageOrMenuCancelsAsWell(answer: String, message: String) {
        cluster.order("a", "kiwi", quantity: 2)
        cluster.claim()
        let head = #"{"type":"juiceMade","orderId":"a","store":"gangnam","offset":0,"#
        cluster.send(.results, key: "gangnam", head + answer + #""revision":1,"message":"\#(message)"}"#)
        cluster.cancel("a")
        harness.run()
        #expect(cluster.answers().last == "cancelled a")
        #expect(cluster.answerValues().last?.contains(#""returned":{"kiwi":6},"left":{"kiwi":10}"#) == true)
    }

    @Test func aSuccessorOfAnotherLanguageKnowsCancelsAsWell() {
        cluster.claim()
        let head = #"{"type":"cancelled","orderId":"a","store":"gangnam","offset":0,"returned":{},"left":{},"#
        cluster.send(.results, key: "gangnam", head + #""message":"취소했어요. 되돌린 재고가 없습니다."}"#)
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

    /// A mango kiwi juice takes one kiwi, a kiwi juice three. Three kiwi juices and two mango kiwi juices exceed ten kiwis only
    /// together.
    @Test(arguments: [(3, 1, "juiceMade a"), (3, 2, "outOfStock a"), (2, 4, "juiceMade a")])
    func itemsAreJudgedTogether(kiwi: Int, mangoKiwi: Int, answer: String) {
        cluster.basket("a", #"{"juice":"kiwi","quantity":\#(kiwi)},{"juice":"mangoKiwi","quantity":\#(mangoKiwi)}"#)
        harness.run()
        #expect(cluster.answers() == [answer])
        #expect(cluster.values(.stock).count == (answer == "juiceMade a" ? 1 : 0))
    }

    @Test func aRepeatedBasketGetsItsFirstAnswer() {
        harness.restock("all", #""set":{"strawberry":900000000,"banana":900000000,"kiwi":900000000,"mango":900000000}"#)
        let juices = ["kiwi", "banana", "strawberry", "mango", "mangoKiwi", "strawberryBanana"]
        for _ in 0..<2 {
            cluster.basket("a", juices.map { #"{"juice":"\#($0)","quantity":99}"# }.joined(separator: ","))
            harness.run()
        }
        let answers = cluster.answerValues()
        #expect(answers[1].contains(#""revision":2"#))
        #expect(answers[2] == again(answers[1], at: 1))
    }

    @Test func everyChangeHasTheNextRevisionAndNothingElseHasOne() {
        for (id, juice) in [("a", "kiwi"), ("b", "strawberry"), ("c", "durian"), ("d", "banana")] { cluster.order(id, juice) }
        harness.run()
        harness.restock("e", #""add":{"kiwi":0}"#)
        for id in ["d", "f"] { cluster.cancel(id) }
        for id in ["a", "g"] { cluster.order(id, "kiwi") }
        harness.run()
        let revisions = cluster.answerValues().map { value in value.firstMatch(of: /"revision":(\d+)/).map { String($0.1) } ?? "-" }
        #expect(revisions == ["1", "-", "-", "2", "3", "4", "-", "1", "5"])
    }
}
