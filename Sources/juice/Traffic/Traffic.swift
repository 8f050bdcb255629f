import JuiceMaker
import JuiceMessages

/// Generates the orders and cancels of simulated points of sale. The same seed gives the same ones.
struct Traffic {
    /// One order, of a single juice or of several.
    struct Order: Equatable {
        let id: String
        let store: String
        let items: [OrderedJuice]
    }

    /// A juice that is on no menu, to provoke rejections.
    static let unknownJuice = "durian"

    /// A part of every id, so that ids of different runs differ; empty if there is only one run.
    let run: String
    private let stores: [String]
    private let juices: [String]
    private var random: SeededGenerator
    private var count = 0
    /// The latest orders, oldest first, that were not cancelled: at most ``mostRecent``.
    private var recent: [Order] = []

    private static let mostRecent = 10

    /// - Parameter stores: at least one.
    init(stores: [String], menu: Menu, seed: UInt64, run: String = "") {
        self.run = run
        self.stores = stores
        juices = menu.juices.map(\.id)
        random = SeededGenerator(seed: seed)
    }

    /// The next order: one in eight is a basket.
    mutating func next() -> Order {
        count += 1
        let till = Int.random(in: stores.indices, using: &random)
        let size = Int.random(in: 0..<8, using: &random) == 0 ? Int.random(in: 2...4, using: &random) : 1
        let order = Order(
            id: "pos-\(till + 1)-\(run.isEmpty ? "" : run + "-")\(count)", store: stores[till],
            items: (0..<size).map { _ in item() })
        if recent.count == Self.mostRecent { recent.removeFirst() }
        recent.append(order)
        return order
    }

    /// The recent order that a customer takes back now, each at most once; nil 24 times out of 25.
    mutating func nextCancelled() -> Order? {
        guard !recent.isEmpty, Int.random(in: 0..<25, using: &random) == 0 else { return nil }
        return recent.remove(at: Int.random(in: recent.indices, using: &random))
    }

    private mutating func item() -> OrderedJuice {
        let isUnknown = Int.random(in: 0..<40, using: &random) == 0
        let juice = juices[Int.random(in: juices.indices, using: &random)]
        return OrderedJuice(
            juice: isUnknown ? Self.unknownJuice : juice, quantity: Int.random(in: 0..<8, using: &random) == 0 ? 2 : 1)
    }

    /// A random pause between two orders at a human pace: about six orders per second.
    mutating func pause() -> Duration { .milliseconds(Int.random(in: 60...260, using: &random)) }
}
