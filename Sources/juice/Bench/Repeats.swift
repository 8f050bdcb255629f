import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench repeats`: what repeats of old orders cost.
    struct Repeats: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "What repeats of old orders cost, whose answers are read back from the results.",
            discussion: """
                Each round sends new orders, then the oldest tenth of them again in order, then a hundredth of them from \
                anywhere. Each time is from the first order sent to the last one answered.

                Goal: repeats in order at a quarter of the speed of new orders or more.

                Examples:
                  juice bench repeats --bootstrap-servers kafka:9092
                  juice bench repeats --bootstrap-servers kafka:9092 --partitions 4 --orders 400000
                """
        )

        @OptionGroup var orders: BenchOrderOptions
        @OptionGroup var options: BenchOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try RepeatsPlan(settings)
            try BenchRun.run(settings, plan)
        }
    }
}

extension RepeatsPlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(
            orders: try settings.integer(.orders, in: 100_000...1_000_000) ?? 1_000_000,
            stores: try settings.storeCount(default: 1_000), partitions: try settings.benchPartitions(default: 1),
            rounds: try settings.rounds(default: 3))
    }
}
