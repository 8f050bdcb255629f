/// When a command stops waiting.
package struct Deadline {
    private let end: ContinuousClock.Instant

    /// A deadline `duration` from now.
    package init(after duration: Duration) { end = .now + duration }

    /// Whether the deadline has passed.
    package var isOver: Bool { ContinuousClock.now >= end }

    /// The time left, never negative.
    package var remaining: Duration { max(.zero, end - .now) }

    /// The time left, capped to a polling step.
    package func step(_ longest: Duration = .milliseconds(100)) -> Duration { min(remaining, longest) }
}

extension Duration {
    /// `10 s`, `0.5 s`.
    package var inSeconds: String {
        let milliseconds = Int((self / Duration.milliseconds(1)).rounded())
        guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
        return "\(Double(milliseconds) / 1000) s"
    }
}
