import JuiceMaker
import SeededRandom

/// Generates the orders of simulated points of sale. The same seed gives the same orders.
struct Traffic {
    /// One order.
    struct Order: Equatable {
        let id: String
        let store: String
        let juice: String
        let quantity: Int
    }

    /// A juice that is on no menu, to provoke rejections.
    static let unknownJuice = "durian"

    /// A part of every id, so that ids of different runs differ; empty if there is only one run.
    let run: String
    private let stores: [String]
    private let juices: [String]
    private var random: SeededGenerator
    private var count = 0

    /// - Parameter stores: at least one.
    init(stores: [String], menu: Menu, seed: UInt64, run: String = "") {
        self.run = run
        self.stores = stores
        juices = menu.juices.map(\.id)
        random = SeededGenerator(seed: seed)
    }

    mutating func next() -> Order {
        count += 1
        let till = Int.random(in: stores.indices, using: &random)
        let isUnknown = Int.random(in: 0..<40, using: &random) == 0
        let juice = juices[Int.random(in: juices.indices, using: &random)]
        let quantity = Int.random(in: 0..<8, using: &random) == 0 ? 2 : 1
        return Order(
            id: "pos-\(till + 1)-\(run.isEmpty ? "" : run + "-")\(count)",
            store: stores[till],
            juice: isUnknown ? Self.unknownJuice : juice,
            quantity: quantity
        )
    }

    /// A random pause between two orders at a human pace: about six orders per second.
    mutating func pause() -> Duration {
        .milliseconds(Int.random(in: 60...260, using: &random))
    }
}
