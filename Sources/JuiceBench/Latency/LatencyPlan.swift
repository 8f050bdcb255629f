/// Measures how long orders wait for their answers at a steady rate.
package struct LatencyPlan: BrokerMeasurement, Encodable, Equatable {
    /// Not counted: connections are made, memory grows.
    static let warmUpSeconds = 1

    let rate: Int
    let durationSeconds: Int
    let stores = 1_000
    let initialStock: Int
    let partitions: Int
    let rounds: Int

    /// A measurement of `rate` orders a second, for so many seconds, in each round.
    package init(rate: Int, durationSeconds: Int, initialStock: Int, partitions: Int, rounds: Int) {
        (self.rate, self.durationSeconds, self.initialStock) = (rate, durationSeconds, initialStock)
        (self.partitions, self.rounds) = (partitions, rounds)
    }

    /// How many orders are sent before those that count.
    var warmUpOrders: Int { rate * Self.warmUpSeconds }
    var orders: Int { warmUpOrders + rate * durationSeconds }

    /// When an order is due, after the first.
    func due(_ number: Int) -> Duration { .seconds(number) / rate }

    package func measure(at site: BenchSite) throws -> any BenchReport {
        try LatencyMeasurement(site: site, plan: self).report()
    }
}
