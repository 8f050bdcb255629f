/// The moment at which a command stops waiting, whatever it waits for.
package struct Deadline {
    private let end: ContinuousClock.Instant

    package init(after duration: Duration) {
        end = .now + duration
    }

    package var isOver: Bool { ContinuousClock.now >= end }

    /// What is left, never negative.
    package var remaining: Duration { max(.zero, end - .now) }

    /// What is left, but no longer than a step after which to look around.
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
