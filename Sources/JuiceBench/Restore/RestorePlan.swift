/// Measures how fast the service restores its stores, and what a store costs.
package struct RestorePlan: BrokerMeasurement, Encodable, Equatable {
    let stores: Int
    let partitions: Int
    let rounds: Int

    /// A measurement of starts with so many stores, round after round.
    package init(stores: Int, partitions: Int, rounds: Int) {
        (self.stores, self.partitions, self.rounds) = (stores, partitions, rounds)
    }

    package func measure(at site: BenchSite) throws -> any BenchReport {
        try RestoreMeasurement(site: site, plan: self).report()
    }
}
