/// Measures throughput: every contender goes through the same orders, round after round.
package struct EndToEndPlan: BrokerMeasurement, Encodable, Equatable {
    /// Fewer are done before they can be timed.
    package static let fewestOrders = 50_000

    let orders: Int
    let stores: Int
    let initialStock: Int
    let partitions: Int
    let rounds: Int

    /// A measurement of so many orders for so many stores, which have `initialStock` of each fruit, in each round.
    package init(orders: Int, stores: Int, initialStock: Int, partitions: Int, rounds: Int) {
        (self.orders, self.stores, self.initialStock) = (orders, stores, initialStock)
        (self.partitions, self.rounds) = (partitions, rounds)
    }

    package func measure(at site: BenchSite) throws -> any BenchReport {
        try EndToEndMeasurement(site: site, plan: self).report()
    }
}
