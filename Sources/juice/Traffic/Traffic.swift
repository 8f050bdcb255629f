import JuiceMaker
import SeededRandom

/// Simulated points of sale: orders for a few stores, the same ones for the same seed.
struct Traffic {
    /// One order, as a till would ring it up.
    struct Order: Equatable {
        let id: String
        let store: String
        let juice: String
        let quantity: Int
    }

    /// A juice that no menu has, so that rejections are seen, too.
    static let unknownJuice = "durian"

    /// Part of every id, so that two runs do not use the same ones; empty where a run stands alone.
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

    /// A moment between two orders at a human pace: some six orders a second, unevenly.
    mutating func pause() -> Duration {
        .milliseconds(Int.random(in: 60...260, using: &random))
    }
}
