import ArgumentParser
import JuiceBench

extension Bench {
    /// `juice bench core`: the service's own work on an order.
    struct Core: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "The service's own work on an order, piece by piece, without Kafka.",
            discussion: """
                Each piece is done for many orders in a row, in steady state, and the rounds' median counts. "order" is \
                decode, apply and encode together; "engine" is all that the service does for an order but talking to \
                Kafka.

                Goal: decode, apply and encode together in at most 300 nanoseconds. Memory requests and instructions, \
                which a busy machine does not change, are counted by make microbench and make instructions.

                Examples:
                  juice bench core
                  juice bench core --stores 1000000 --json
                """
        )

        @Option(help: ArgumentHelp("Orders in each round. (default: 1000000)", valueName: "count"))
        var orders: Int?

        @Option(help: ArgumentHelp("How many stores they are for. (default: 1000)", valueName: "count"))
        var stores: Int?

        @OptionGroup var measurement: MeasurementOptions
        @OptionGroup var general: GeneralOptions

        func run() throws {
            let settings = try Settings(self)
            let plan = try CorePlan(settings)
            let progress = BenchProgress()
            let report = CoreReport(plan, samples: plan.measure(progress))
            progress.clear()
            try BenchRun.print(report, settings)
        }
    }
}

/// What of the core is measured.
struct CorePlan: Encodable, Equatable {
    let orders: Int
    let stores: Int
    let rounds: Int

    init(_ settings: Settings) throws(Failure) {
        orders = try settings.integer(.orders, in: 1_000...999_999_999) ?? 1_000_000
        stores = try settings.storeCount(default: 1_000)
        rounds = try settings.rounds(default: 5)
    }

    /// The nanoseconds that each piece took for an order, round by round.
    ///
    /// - Parameter distinctOrders: how many there are before they come again under other ids, a power of two.
    func measure(_ progress: BenchProgress, distinctOrders: Int = 1 << 20) -> [CoreSample] {
        let pieces = CoreCase.all(storeCount: stores, distinctOrders: distinctOrders)
        let steps = pieces.count * (rounds + 1)
        var samples = pieces.map { CoreSample(piece: $0.name, summary: $0.summary, nanoseconds: []) }
        // The first round makes everything grow to its size, and does not count.
        for round in 0...rounds {
            for (index, piece) in pieces.enumerated() {
                progress.show(piece.name, round * pieces.count + index, of: steps)
                let start = ContinuousClock.now
                piece.run(orders)
                let time = (ContinuousClock.now - start) / .nanoseconds(1)
                if round > 0 { samples[index].nanoseconds.append(time / Double(orders)) }
            }
        }
        return samples
    }
}

/// How long one piece took for an order, in each round.
struct CoreSample: Encodable, Equatable {
    let piece: String
    let summary: String
    var nanoseconds: [Double]

    var median: Double? { Statistics.median(nanoseconds) }
}

/// The service's own work, by pieces.
struct CoreReport: BenchReport, Equatable {
    let benchmark = "core"
    let machine = BenchMachine(brokers: [])
    let settings: CorePlan
    let rounds: [CoreSample]
    /// Nanoseconds for an order, by piece.
    let medians: [String: Double]
    let goals: [Goal]

    init(_ settings: CorePlan, samples: [CoreSample]) {
        self.settings = settings
        rounds = samples
        medians = samples.reduce(into: [:]) { $0[$1.piece] = $1.median }
        goals = [
            Goal(
                name: "decode + apply + encode one order",
                measured: medians["order"],
                bound: .atMost,
                limit: 300,
                unit: "ns"
            )
        ]
    }

    var head: String {
        "\(Figure.text(settings.orders)) orders, \(Figure.text(settings.stores)) stores, \(settings.rounds) rounds"
    }

    func table() -> Table {
        var table = Table([
            .init(title: "piece"), .init(title: "ns/order", alignsRight: true),
            .init(title: "least", alignsRight: true), .init(title: "most", alignsRight: true),
            .init(title: ""),
        ])
        for sample in rounds {
            table.add([
                .init(sample.piece), .init(sample.median), .init(sample.nanoseconds.min()),
                .init(sample.nanoseconds.max()), .init(sample.summary),
            ])
        }
        return table
    }
}
