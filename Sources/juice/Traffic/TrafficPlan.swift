import ArgumentParser
import JuiceMessages

/// The options of simulated traffic.
struct TrafficOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End after this many answered orders. (default: at Ctrl-C)", valueName: "count")) var orders: Int?

    @Option(
        help: ArgumentHelp(
            "The stores, separated by commas, or their number. (default: gangnam,hongdae,jamsil)", valueName: "names|count"))
    var stores: String?

    @Option(help: ArgumentHelp("The seed of the orders, to repeat another run. (default: a new seed)", valueName: "number"))
    var seed: UInt64?
}

/// The configuration of simulated traffic.
struct TrafficPlan {
    let stores: [String]
    let seed: UInt64
    /// How many orders to send; nil runs until the user ends it.
    let orders: Int?

    init(_ settings: Settings) throws(Failure) {
        orders = try settings.integer(.orders, in: 1...(.max))
        stores =
            try settings.value(.stores, "names of 1 to 128 bytes, or a number up to 1000", Self.storeNames) ?? [
                "gangnam", "hongdae", "jamsil",
            ]
        seed =
            try settings.value(.seed, "a whole number that is not negative") { UInt64($0) } ?? .random(in: 0...UInt64(UInt32.max))
    }

    /// Without a number of orders the traffic is for people to watch, otherwise for counting.
    var pace: TrafficSession.Pace { orders == nil ? .human : .full }

    /// Parses a list of store ids, or a number of generated ones.
    static func storeNames(_ text: String) -> [String]? {
        if let count = Int(text) { return (1...1000).contains(count) ? (1...count).map { "store-\($0)" } : nil }
        return StoreID.names(text).flatMap { Set($0).count == $0.count ? $0 : nil }
    }
}
