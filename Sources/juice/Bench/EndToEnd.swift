import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench end-to-end`: throughput and its cost.
    struct EndToEnd: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "end-to-end", abstract: "Throughput and processor time per order, beside a bare loop on the same orders.",
            discussion: """
                Each round fills a new topic with orders. The service and a bare exactly-once loop process all of them, one \
                after the other, in an order that changes with each round. The loop writes records as long as the service's \
                answers. A second loop sends no offsets in its transactions: the least that a journal can cost. Progress is \
                measured for all in the same way: by what they have committed to their output topics.

                Goals: at least 0.90 of the bare loop's orders per second, and at most 1.1 times its processor time per order, or \
                1.3 times that of the loop without offsets.

                Examples:
                  juice bench end-to-end --bootstrap-servers kafka:9092
                  juice bench end-to-end --bootstrap-servers kafka:9092 --orders 2000000 --stores 1000000
                  juice bench end-to-end --bootstrap-servers kafka:9092 --partitions 64 --json > numbers.json
                """
        )

        @OptionGroup var orders: BenchOrderOptions

        @Option(
            help: ArgumentHelp(
                """
                The initial stock of each fruit in each store: with 10 most orders are soon out of stock, with 1000000 every \
                juice is made and changes the stock. (default: 10)
                """,
                valueName: "count"
            )
        )
        var initialStock: Int?

        @OptionGroup var options: BenchOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try EndToEndPlan(settings)
            try BenchRun.run(settings, plan)
        }
    }
}

extension EndToEndPlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(
            orders: try settings.integer(.orders, in: Self.fewestOrders...999_999_999) ?? 1_000_000,
            stores: try settings.storeCount(default: 1_000),
            initialStock: try settings.integer(.initialStock, in: 0...1_000_000_000) ?? 10,
            partitions: try settings.benchPartitions(default: 4), rounds: try settings.rounds(default: 5))
    }
}
