import ArgumentParser
import JuiceBench
import JuiceClient

/// The options of all measurements.
struct MeasurementOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The number of rounds; the report has the medians.", valueName: "count"))
    var rounds: Int?

    @Flag(inversion: .prefixedNo, help: "Print JSON, documented in docs/PERFORMANCE.md.")
    var json: Bool?

    @Flag(inversion: .prefixedNo, help: "Exit with status 1 if a goal is missed.")
    var check: Bool?
}

/// The options of all measurements that need a broker.
struct BenchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Partitions of each topic.", valueName: "count"))
    var partitions: Int?

    @Option(help: ArgumentHelp("Replicas of each partition. (default: the broker's)", valueName: "count"))
    var replicationFactor: Int?

    @OptionGroup var measurement: MeasurementOptions
    @OptionGroup var kafka: KafkaOptions
}

/// The orders that a round consists of.
struct BenchOrderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Orders in each round. (default: 1000000)", valueName: "count"))
    var orders: Int?

    @Option(help: ArgumentHelp("The number of stores that the orders are for. (default: 1000)", valueName: "count")) var stores:
        Int?
}

extension Settings {
    /// The number of partitions of each topic.
    func benchPartitions(default count: Int) throws(Failure) -> Int {
        try integer(.partitions, in: 1...1_000) ?? count
    }

    /// The number of rounds.
    func rounds(default count: Int) throws(Failure) -> Int {
        try integer(.rounds, in: 1...1_000) ?? count
    }

    /// The number of stores. For other commands the setting of this name may list store ids.
    func storeCount(default count: Int) throws(Failure) -> Int {
        try integer(.stores, in: 1...BenchOrders.mostStores) ?? count
    }
}
