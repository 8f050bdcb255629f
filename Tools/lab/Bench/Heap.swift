import ArgumentParser
import CLab

/// `lab bench heap`: how often an order allocates memory. The number is the same on every machine.
struct Heap: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The heap allocations of each piece of an order's work, without Kafka.",
        discussion: """
            Each piece runs in steady state, after a warm-up. Goal: an order allocates nothing, and a basket once, for its items.
            """)

    @Option(help: "The number of orders to count.", transform: whole(1...999_999_999)) var orders = 1_000_000

    @Option(help: "The number of stores that the orders are for.", transform: whole(1...OrderGenerator.mostStores))
    var stores = 1_000

    @OptionGroup var output: OutputOptions

    /// One per 100 orders: a transaction and its position note allocate, and so do some hundred baskets together, but not an order.
    private static let tolerance = 0.01

    func run() throws {
        guard malloc_count() >= 0 else { return print("Skipped: allocations can be counted with glibc only") }
        var report = Report("heap", ["orders": orders, "stores": stores])
        for piece in CorePiece.all(stores: stores) {
            piece.run(max(orders, 1 << 21))
            let before = malloc_count()
            piece.run(orders)
            let count = Double(malloc_count() - before) / Double(orders)
            report.add("allocations/order, \(piece.name)", count, .atMost(Double(piece.allocations) + Self.tolerance))
        }
        try output.show(report)
    }
}
