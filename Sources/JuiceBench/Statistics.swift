/// What is made of many measurements.
enum Statistics {
    /// The value in the middle, or the mean of the two in the middle; nil where there is none.
    static func median(_ values: some Sequence<Double>) -> Double? {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return nil }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }

    /// The least value that so many percent of all do not exceed (nearest rank); nil where there is none.
    ///
    /// - Parameter sorted: in ascending order.
    static func percentile(_ percent: Double, ofSorted sorted: [Double]) -> Double? {
        guard !sorted.isEmpty else { return nil }
        // 99.9 has no exact binary form: what is over by nothing but that is not the next rank.
        let rank = Int((percent * Double(sorted.count) / 100 - 1e-9).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
