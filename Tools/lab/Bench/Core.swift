import ArgumentParser

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
