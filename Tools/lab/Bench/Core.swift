import ArgumentParser
import CLab

/// `lab bench core`: the service's own work per order.
struct Core: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The service's own work on an order, piece by piece, without Kafka.",
        discussion: """
            Each piece runs for many orders in a row, in steady state. "order" is decode, apply and encode together, "basket" the \
            same for five juices; "engine" is everything that the service does for an order except talking to Kafka.

            Goal: decode, apply and encode together in at most 300 nanoseconds. `lab bench heap` and `make instructions` count \
            allocations and instructions, which do not depend on the machine's load.

            Example:
              lab bench core --stores 1000000 --json
            """)

    @Option(help: "Orders in each round.", transform: whole(1_000...999_999_999)) var orders = 1_000_000

    @Option(help: "The number of stores that the orders are for.", transform: whole(1...OrderGenerator.mostStores))
    var stores = 1_000

    @Option(help: "The number of rounds.", transform: whole(1...1_000)) var rounds = 5
    @OptionGroup var output: OutputOptions

    func run() throws { try output.show(report()) }

    func report(distinctOrders: Int = 1 << 20) -> Report {
        let pieces = CorePiece.all(stores: stores, distinctOrders: distinctOrders)
        var report = Report("core", ["orders": orders, "stores": stores, "rounds": rounds])
        // Round 0 warms up: it grows all memory and is not counted.
        for round in 0...rounds {
            for piece in pieces {
                let start = ContinuousClock.now
                piece.run(orders)
                let nanoseconds = (ContinuousClock.now - start) / .nanoseconds(1) / Double(orders)
                if round > 0 { report.add("ns/order, \(piece.name)", nanoseconds, piece.name == "order" ? .atMost(300) : nil) }
            }
            note("round \(round) of \(rounds)")
        }
        return report
    }
}

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

/// `lab bench piece`: a piece alone, for valgrind.
struct RunPiece: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "piece", abstract: "Do one piece of an order's work and print nothing: for valgrind.", shouldDisplay: false)

    @Argument var name: String
    @Option var orders: Int

    func run() throws {
        // Few distinct orders, since valgrind counts the instructions that create them, too.
        let pieces = CorePiece.all(stores: 1_000, distinctOrders: 1 << 16)
        guard let piece = pieces.first(where: { $0.name == name }) else {
            throw ValidationError("the pieces are \(pieces.map(\.name).joined(separator: ", "))")
        }
        piece.run(orders)
    }
}
