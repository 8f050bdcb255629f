/// The longest times in which nothing arrived from a partition.
struct ArrivalGaps {
    /// What was longest since it was last asked.
    struct Longest {
        /// By partition.
        var ofEach: [Int32: Duration] = [:]
        /// In which nothing came from any.
        var ofAll = Duration.zero

        /// That of the partition where it was longest.
        var longest: Duration { ofEach.values.max() ?? .zero }
    }

    private var last: [Int32: ContinuousClock.Instant] = [:]
    private var lastOfAll: ContinuousClock.Instant?
    private var longest = Longest()

    /// Takes note of an arrival. Where nothing is sent to a partition, nothing arrives, so the load has to be steady.
    mutating func recordArrival(from partition: Int32, at now: ContinuousClock.Instant = .now) {
        if let before = last.updateValue(now, forKey: partition) {
            longest.ofEach[partition] = max(longest.ofEach[partition] ?? .zero, now - before)
        }
        if let lastOfAll { longest.ofAll = max(longest.ofAll, now - lastOfAll) }
        lastOfAll = now
    }

    /// What was longest since the last call.
    mutating func drain() -> Longest {
        defer { longest = Longest() }
        return longest
    }
}
