/// The longest times without an answer, by when answers arrived.
struct AnswerGaps {
    private var last: [Int32: ContinuousClock.Instant] = [:]
    private var lastOfAll: ContinuousClock.Instant?
    private var longest = Duration.zero
    private var longestOfAll = Duration.zero

    /// Takes note of an answer. Where a partition's commands stop, its answers do, so the load has to be steady.
    mutating func note(answerFrom partition: Int32, at now: ContinuousClock.Instant) {
        if let before = last.updateValue(now, forKey: partition) { longest = max(longest, now - before) }
        if let lastOfAll { longestOfAll = max(longestOfAll, now - lastOfAll) }
        lastOfAll = now
    }

    /// What was longest since the last call, of one partition and of all together.
    mutating func take() -> (ofOne: Duration, ofAll: Duration) {
        defer { (longest, longestOfAll) = (.zero, .zero) }
        return (longest, longestOfAll)
    }
}
