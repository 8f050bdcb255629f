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
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
