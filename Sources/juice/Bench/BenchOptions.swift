import ArgumentParser
import JuiceBench
import JuiceClient

/// The options that all measurements have.
struct MeasurementOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How often everything is measured; medians are told.", valueName: "count"))
    var rounds: Int?

    @Flag(inversion: .prefixedNo, help: "Print JSON, documented in docs/PERFORMANCE.md.")
    var json: Bool?

    @Flag(inversion: .prefixedNo, help: "End with status 1 when a goal is missed.")
    var check: Bool?
}

/// The options that all measurements on a broker have.
struct BenchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Partitions of each topic.", valueName: "count"))
    var partitions: Int?

    @Option(help: ArgumentHelp("Copies kept of each partition. (default: the broker's)", valueName: "count"))
    var replicationFactor: Int?

    @OptionGroup var measurement: MeasurementOptions
    @OptionGroup var kafka: KafkaOptions
}

extension Settings {
    /// How many partitions the topics of a measurement get.
    func benchPartitions(default count: Int) throws(Failure) -> Int {
        try integer(.partitions, in: 1...1_000) ?? count
    }

    func rounds(default count: Int) throws(Failure) -> Int {
        try integer(.rounds, in: 1...1_000) ?? count
    }

    /// How many stores the orders are for. Another command's setting of the same name may list stores by name.
    func storeCount(default count: Int) throws(Failure) -> Int {
        try integer(.stores, in: 1...BenchOrders.mostStores) ?? count
    }
}
