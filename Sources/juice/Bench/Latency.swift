import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench latency`: how long an order waits for its answer.
    struct Latency: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "How long orders wait for their answers at a steady rate, beside a bare loop.",
            discussion: """
                Orders are sent at a steady rate, without waiting for answers. The latency of an order is the time from when \
                it was due until its committed answer is read, so a pause shows in all the orders that it delays. The first \
                second is not counted.

                Goals: at most 0.85 times the bare loop's p50 (0.80 up to 300 orders/s), at most its p99, and at most 1.3 times \
                those of a loop without offsets in its transactions (1.15 times its p50 up to 300 orders/s).

                Examples:
                  juice bench latency --bootstrap-servers kafka:9092
                  juice bench latency --bootstrap-servers kafka:9092 --rate 100 --duration 60
                """
        )

        @Option(help: ArgumentHelp("Orders per second. (default: 1000)", valueName: "count"))
        var rate: Int?

        @Option(help: ArgumentHelp("How long each contender is measured per round. (default: 20)", valueName: "seconds"))
        var duration: Int?

        @Option(
            help: ArgumentHelp(
                """
                The initial stock of each fruit in each store: with 0 every order is out of stock, and no transaction writes \
                stock. (default: 10)
                """,
                valueName: "count"
            )
        )
        var initialStock: Int?

        @OptionGroup var options: BenchOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try LatencyPlan(settings)
            try BenchRun.run(settings, plan)
        }
    }
}

extension LatencyPlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(
            rate: try settings.integer(.rate, in: 1...1_000_000) ?? 1_000,
            durationSeconds: try settings.integer(.duration, in: 1...3_600) ?? 20,
            initialStock: try settings.integer(.initialStock, in: 0...1_000_000_000) ?? 10,
            partitions: try settings.benchPartitions(default: 4), rounds: try settings.rounds(default: 3))
    }
}
