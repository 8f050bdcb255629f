import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench restore`: restore speed, and memory per store.
    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "How fast the service restores its stores, and how much memory a store takes.",
            discussion: """
                The service is started on a stock topic with all stores and on an empty one; the difference is the cost of \
                the stores. The same is measured for librdkafka alone, which only reads the topic. Finally an order waits in \
                otherwise empty topics, and the time from the start of the process to its answer is measured.

                A broker delays the first rebalance of a new group by group.initial.rebalance.delay.ms, by default 3 s: every \
                start takes that much longer.

                Goals: at most 200 bytes per store; at least half the speed of librdkafka alone; the first answer within 0.5 s.

                Examples:
                  juice bench restore --bootstrap-servers kafka:9092
                  juice bench restore --bootstrap-servers kafka:9092 --stores 100000 --partitions 4
                """
        )

        @Option(help: ArgumentHelp("The number of stores with stock. (default: 1000000)", valueName: "count"))
        var stores: Int?

        @OptionGroup var options: BenchOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try RestorePlan(settings)
            try BenchRun.run(settings, plan)
        }
    }
}

extension RestorePlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(
            stores: try settings.storeCount(default: 1_000_000), partitions: try settings.benchPartitions(default: 1),
            rounds: try settings.rounds(default: 3))
    }
}
