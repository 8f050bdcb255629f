import ArgumentParser
import JuiceClient
import JuiceMessages

/// The options of simulated traffic.
struct TrafficOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End after this many order answers. (default: at Ctrl-C)", valueName: "count"))
    var orders: Int?

    @Option(
        help: ArgumentHelp(
            "The stores, separated by commas, or how many. (default: gangnam,hongdae,jamsil)",
            valueName: "names|count"
        )
    )
    var stores: String?

    @Option(
        help: ArgumentHelp("Repeats the orders of another run. (default: a new seed)", valueName: "number")
    )
    var seed: UInt64?
}

/// How much simulated traffic, and whose.
struct TrafficPlan {
    let stores: [String]
    let seed: UInt64
    /// Nil goes on until somebody ends it.
    let orders: Int?

    init(_ settings: Settings) throws(Failure) {
        orders = try settings.integer(.orders, in: 1...(.max))
        stores =
            try settings.value(.stores, "names of 1 to 128 bytes, or a number up to 1000", Self.storeNames)
            ?? ["gangnam", "hongdae", "jamsil"]
        seed =
            try settings.value(.seed, "a whole number that is not negative") { UInt64($0) }
            ?? .random(in: 0...UInt64(UInt32.max))
    }

    /// To look at, traffic goes at a human pace; to be counted, as fast as answers come.
    var pace: TrafficSession.Pace { orders == nil ? .human : .full }

    /// Store names from a list, or so many made-up ones.
    static func storeNames(_ text: String) -> [String]? {
        if let count = Int(text) {
            return (1...1000).contains(count) ? (1...count).map { "store-\($0)" } : nil
        }
        return StoreID.names(text).flatMap { Set($0).count == $0.count ? $0 : nil }
    }
}
