import CoreBench

/// Measures the service's own work per order, piece by piece, without Kafka.
package struct CorePlan: Encodable, Equatable {
    let orders: Int
    let stores: Int
    let rounds: Int

    /// A measurement with this many orders and stores in each round.
    package init(orders: Int, stores: Int, rounds: Int) {
        (self.orders, self.stores, self.rounds) = (orders, stores, rounds)
    }

    /// Measures every piece in every round.
    ///
    /// - Parameter onProgress: called before each piece.
    package func measure(onProgress: (BenchProgress) -> Void) -> any BenchReport {
        CoreReport(self, samples: samples(onProgress: onProgress))
    }

    /// The nanoseconds per order that each piece took in each round.
    ///
    /// - Parameter distinctOrders: how many orders there are before they repeat with other ids, a power of two.
    func samples(distinctOrders: Int = 1 << 20, onProgress: (BenchProgress) -> Void) -> [CoreSample] {
        let pieces = CoreCase.all(storeCount: stores, distinctOrders: distinctOrders)
        let steps = pieces.count * (rounds + 1)
        var samples = pieces.map { CoreSample(piece: $0.name, summary: $0.summary, nanoseconds: []) }
        // Round 0 warms up: it grows all memory and is not counted.
        for round in 0...rounds {
            for (index, piece) in pieces.enumerated() {
                onProgress(.step(piece.name, done: round * pieces.count + index, total: steps))
                let start = ContinuousClock.now
                piece.run(orders)
                let time = (ContinuousClock.now - start) / .nanoseconds(1)
                if round > 0 { samples[index].nanoseconds.append(time / Double(orders)) }
            }
        }
        return samples
    }
}

/// The time per order of one piece, by round.
struct CoreSample: Encodable, Equatable {
    let piece: String
    let summary: String
    var nanoseconds: [Double]

    var median: Double? { Statistics.median(nanoseconds) }
}

/// The times of all pieces.
struct CoreReport: BenchReport, Equatable {
    let benchmark = "core"
    let machine = BenchMachine(brokers: [])
    let settings: CorePlan
    let rounds: [CoreSample]
    /// Nanoseconds per order, by piece.
    let medians: [String: Double]
    let goals: [Goal]

    init(_ settings: CorePlan, samples: [CoreSample]) {
        self.settings = settings
        rounds = samples
        medians = samples.reduce(into: [:]) { $0[$1.piece] = $1.median }
        goals = [
            Goal(name: "decode + apply + encode one order", measured: medians["order"], bound: .atMost, limit: 300, unit: "ns")
        ]
    }

    var head: String {
        "\(Figure.text(settings.orders)) orders, \(Figure.text(settings.stores)) stores, \(settings.rounds) rounds"
    }

    var table: FigureTable {
        var table = FigureTable([("piece", .left), ("ns/order", .right), ("least", .right), ("most", .right), ("", .left)])
        for sample in rounds {
            table.add([
                .text(sample.piece), .figure(sample.median), .figure(sample.nanoseconds.min()),
                .figure(sample.nanoseconds.max()), .text(sample.summary),
            ])
        }
        return table
    }
}
