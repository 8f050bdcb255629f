import JuiceDomain
import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Cancelled orders, and what becomes of their ids.
@Suite struct CancelTests {
    private let cluster = SimulatedCluster(partitionCount: 1)

    /// A worker that keeps its answers in memory, and one that keeps the last one alone and reads others back.
    private static let answerBytes = [4 << 20, 0]

    private var stock: String { cluster.values(.stock).last ?? "" }

    @Test(arguments: answerBytes) func aDeadOrderStaysDead(answerBytes: Int) {
        let harness = Harness(cluster, answerBytes: answerBytes)
        cluster.basket("a", ("kiwi", 2), ("banana", 1))
        cluster.cancel("early")
        harness.order("b", "banana")
        for _ in 0..<2 { for id in ["a", "early"] { cluster.cancel(id) } }
        for id in ["a", "early"] { cluster.order(id, "kiwi") }
        cluster.basket("a", ("banana", 1))
        harness.run()
        let answers = [
            "made a", "cancelled early", "made b", "cancelled a", "cancelled early again", "cancelled a again",
            "cancelled early again", "rejected a", "rejected early", "rejected a",
        ]
        #expect(cluster.answers() == answers)
        let returned = #""returned":{"kiwi":6,"banana":2},"left":{"kiwi":10,"banana":8},"revision":3"#
        for number in [3, 5] { #expect(cluster.answerValues()[number].contains(returned)) }
        #expect(stock.contains(#""revision":3"#))
    }

    @Test(arguments: answerBytes) func aCancelThatWouldOverflowLeavesTheOrderMade(answerBytes: Int) {
        let harness = Harness(cluster, answerBytes: answerBytes)
        harness.order("a", "kiwi")
        harness.restock("full", #""set":{"kiwi":\#(FruitStore.maximumLevel - 2)}"#)
        cluster.cancel("a")
        for id in ["b", "c"] { harness.order(id, "banana") }
        // It needs the order's answer, and the first cancel's.
        for _ in 0..<2 { cluster.cancel("a") }
        harness.run()
        harness.restock("less", #""set":{"kiwi":0}"#)
        cluster.cancel("a")
        harness.order("a", "kiwi")
        let answers = [
            "made a", "edited full", "rejected a", "made b", "made c", "rejected a again", "rejected a again", "edited less",
            "rejected a again", "made a again",
        ]
        #expect(cluster.answers() == answers)
        #expect(cluster.answerValues()[2].contains(#""reason":"wouldOverflow""#))
        #expect(stock.contains(#""revision":5"#))
    }

    /// With a window of a minute: when order, cancel and repeated order were sent, in seconds, what the cancel returned, and the
    /// answer to the repeat, of the same worker or after a restart.
    @Test(
        arguments: [
            // Within both windows.
            (0, 30, 50, #"{"kiwi":3}"#, "rejected a"),
            // The order's window is over at the cancel, but the cancel's is not at the repeat.
            (0, 70, 120, "{}", "rejected a"),
            // The cancel's window is over, too.
            (0, 30, 95, #"{"kiwi":3}"#, "made a"),
            // The cancel was sent before the order: the id stays dead for as long as the order would have been known.
            (40, 0, 90, #"{"kiwi":3}"#, "rejected a"),
        ] as [(Timestamp, Timestamp, Timestamp, String, String)], [false, true]
    )
    func theWindowCountsFromTheLaterOfBoth(
        sent: (order: Timestamp, cancel: Timestamp, again: Timestamp, returned: String, answer: String), restarts: Bool
    ) {
        let window = DuplicateWindow(age: 60_000, count: 1000)
        let (harness, start) = (Harness(cluster, window: window), cluster.now - 3_600_000)
        cluster.order("a", "kiwi", timestamp: start + sent.order * 1000)
        cluster.cancel("a", timestamp: start + sent.cancel * 1000)
        if restarts { harness.runAndLeave() }
        cluster.order("a", "kiwi", timestamp: start + sent.again * 1000)
        (restarts ? Harness(cluster, window: window) : harness).run()
        #expect(cluster.answers() == ["made a", "cancelled a", sent.answer])
        #expect(cluster.answerValues()[1].contains(#""returned":\#(sent.returned),"#))
    }

    /// A cancel returns the fruits that are still on the menu.
    @Test func aSuccessorWithAnotherMenuCancelsAsWell() throws {
        let standard = cluster.menu
        cluster.menu = try Menu(
            fruits: standard.fruits + [fruit("durian")], juices: [juice("durian", [("durian", 3), ("kiwi", 3)])])
        cluster.order("a", "durian", 2)
        Harness(cluster).runAndLeave()
        cluster.menu = standard
        cluster.cancel("a")
        Harness(cluster).run()
        #expect(cluster.answers() == ["made a", "cancelled a"])
        #expect(cluster.answerValues().last?.contains(#""returned":{"kiwi":6},"left":{"kiwi":10}"#) == true)
    }
}
