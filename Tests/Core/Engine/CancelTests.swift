import JuiceDomain
import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Cancelled orders, and what becomes of their ids.
@Suite struct CancelTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    private var stock: String { cluster.values(.stock).last ?? "" }

    @Test func aDeadOrderStaysDead() {
        cluster.order("a", "kiwi")
        cluster.cancel("a")
        cluster.order("a", "kiwi")
        cluster.basket("a", #"{"juice":"banana"}"#)
        cluster.cancel("a")
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "cancelled a", "rejected a", "rejected a", "cancelled a again"])
        #expect(cluster.answerValues().last?.contains(#""returned":{"kiwi":3},"left":{"kiwi":10},"revision":2"#) == true)
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
