import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Workers with a list of known stores, which differs from one worker to the next.
@Suite struct KnownStoresTests {
    private let cluster = SimulatedCluster(partitionCount: 1)

    /// Answers what was sent, by a worker that knows these stores; nil for all.
    private func run(_ stores: [String]?) { Harness(cluster, stores: stores).runAndLeave() }

    private var stock: String { cluster.values(.stock).last ?? "" }

    @Test func earlierOrdersCanBeRepeatedAndCancelled() {
        cluster.order("a", "kiwi", quantity: 2)
        cluster.order("b", "strawberry")
        run(nil)
        cluster.order("a", "kiwi")
        for id in ["a", "b"] { cluster.cancel(id) }
        for id in ["a", "e"] { cluster.order(id, "kiwi") }
        cluster.cancel("e")
        cluster.order("e", "kiwi")
        run([])
        let before = ["juiceMade a", "outOfStock b"]
        let after = ["juiceMade a again", "cancelled a", "cancelled b", "rejected a", "rejected e", "cancelled e", "rejected e"]
        #expect(cluster.answers() == before + after)
        #expect(stock.contains(#""revision":2"#) && stock.contains(#""kiwi":10"#))
    }

    /// A rejected order stays rejected as long as its sender may repeat it. A rejected cancel leaves no trace.
    @Test func aStoreThatIsKnownAgainGoesOn() {
        cluster.order("a", "kiwi")
        run(nil)
        cluster.order("b", "kiwi")
        for _ in 0..<2 { cluster.cancel("c") }
        run([])
        cluster.order("b", "kiwi")
        cluster.order("c", "kiwi")
        cluster.cancel("c")
        cluster.order("d", "kiwi")
        run(["gangnam"])
        let first = ["juiceMade a", "rejected b", "rejected c", "rejected c"]
        #expect(cluster.answers() == first + ["rejected b again", "juiceMade c", "cancelled c", "juiceMade d"])
        #expect(stock.contains(#""revision":4"#) && stock.contains(#""kiwi":4"#))
    }
}
