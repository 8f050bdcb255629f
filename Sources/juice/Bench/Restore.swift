import ArgumentParser
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench restore`: how fast the service is back, and what a store costs.
    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "How fast the service restores its stores, and the memory that one takes.",
            discussion: """
                The service is started on a stock topic that holds so many stores and on an empty one; the \
                difference is what the stores take. So is librdkafka alone, which only reads the same topic. Then an \
                order waits in otherwise empty topics, and the time from the start of the process to its answer is taken.

                A broker holds a new group's first rebalance up for group.initial.rebalance.delay.ms, by default 3 s: \
                every start takes that much longer.

                Goals: at most 200 bytes a store; at least half the speed of librdkafka alone; the first answer within \
                1 s.

                Examples:
                  juice bench restore --bootstrap-servers kafka:9092
                  juice bench restore --bootstrap-servers kafka:9092 --stores 100000 --partitions 4
                """
        )

        @Option(help: ArgumentHelp("How many stores have stock. (default: 1000000)", valueName: "count"))
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
            stores: try settings.storeCount(default: 1_000_000),
            partitions: try settings.benchPartitions(default: 1),
            rounds: try settings.rounds(default: 3)
        )
    }
}
