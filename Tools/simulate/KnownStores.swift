import JuiceDomain

/// The stores that workers know, in some runs.
struct KnownStores {
    /// Two while the list is being changed: each worker starts with one of them.
    private let lists: [[String]]
    private var random: SeededGenerator

    /// Nil for runs in which all stores are known.
    init?(storeCount: Int, using random: inout SeededGenerator) {
        guard random.chance(10) else { return nil }
        let stores = ["main"] + (1...storeCount).map { "store-\($0)" }
        lists = (0..<random.number(1...2)).map { _ in stores.filter { _ in random.chance(70) } }
        self.random = SeededGenerator(seed: random.next())
    }

    /// The list of a worker that starts.
    mutating func next() -> [String]? { random.pick(lists) }

    /// The list for the auditor: nil if it was changed.
    var only: Set<[UInt8]>? { lists.count == 1 ? Set(lists[0].map { Array($0.utf8) }) : nil }
}
