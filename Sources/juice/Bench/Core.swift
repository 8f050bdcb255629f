import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench core`: the service's own work per order.
    struct Core: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "The service's own work on an order, piece by piece, without Kafka.",
            discussion: """
                Each piece runs for many orders in a row, in steady state; the result is the median of the rounds. "order" is \
                decode, apply and encode together; "engine" is everything that the service does for an order except talking \
                to Kafka.

                Goal: decode, apply and encode together in at most 300 nanoseconds. `make microbench` and `make instructions` \
                count allocations and instructions, which do not depend on the machine's load.

                Examples:
                  juice bench core
                  juice bench core --stores 1000000 --json
                """
        )

        @OptionGroup var orders: BenchOrderOptions

        @OptionGroup var measurement: MeasurementOptions
        @OptionGroup var general: GeneralOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try CorePlan(settings)
            let bar = ProgressBar()
            let report = plan.measure { bar.show($0) }
            bar.clear()
            try BenchRun.print(report, settings)
        }
    }
}

extension CorePlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(
            orders: try settings.integer(.orders, in: 1_000...999_999_999) ?? 1_000_000,
            stores: try settings.storeCount(default: 1_000), rounds: try settings.rounds(default: 5))
    }
}
