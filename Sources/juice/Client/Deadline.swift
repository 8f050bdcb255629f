import Foundation

struct Deadline {
    private let end: ContinuousClock.Instant

    init(after duration: Duration) { end = .now + duration }

    var isOver: Bool { ContinuousClock.now >= end }

    /// The time left, never negative.
    var remaining: Duration { max(.zero, end - .now) }

    /// The time left, capped to a polling step.
    func step(_ longest: Duration = .milliseconds(100)) -> Duration { min(remaining, longest) }
}
