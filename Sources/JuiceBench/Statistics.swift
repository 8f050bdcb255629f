/// Statistics over many measurements.
enum Statistics {
    /// The median: the middle value, or the mean of the two middle values; nil for no values.
    static func median(_ values: some Sequence<Double>) -> Double? {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return nil }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }

    /// A percentile by the nearest-rank method; nil for no values.
    ///
    /// - Parameter sorted: in ascending order.
    static func percentile(_ percent: Double, ofSorted sorted: [Double]) -> Double? {
        guard !sorted.isEmpty else { return nil }
        // 99.9 has no exact binary form; the rounding error must not lead to the next rank.
        let rank = Int((percent * Double(sorted.count) / 100 - 1e-9).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
