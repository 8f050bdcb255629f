/// Measures the longest times without an arrival from a partition.
struct ArrivalGaps {
    /// The longest gaps since the last ``ArrivalGaps/drain()``.
    struct Longest {
        /// The longest gap of each partition.
        var ofEach: [Int32: Duration] = [:]
        /// The longest time without an arrival from any partition.
        var ofAll = Duration.zero

        /// The longest gap of any partition.
        var longest: Duration { ofEach.values.max() ?? .zero }
    }

    private var last: [Int32: ContinuousClock.Instant] = [:]
    private var lastOfAll: ContinuousClock.Instant?
    private var longest = Longest()

    /// Records an arrival. Gaps mean something only if the load is steady.
    mutating func record(arrivalFrom partition: Int32, at now: ContinuousClock.Instant = .now) {
        if let before = last.updateValue(now, forKey: partition) {
            longest.ofEach[partition] = max(longest.ofEach[partition] ?? .zero, now - before)
        }
        if let lastOfAll { longest.ofAll = max(longest.ofAll, now - lastOfAll) }
        lastOfAll = now
    }

    /// Returns the longest gaps since the last call, and starts over.
    mutating func drain() -> Longest {
        defer { longest = Longest() }
        return longest
    }
}
