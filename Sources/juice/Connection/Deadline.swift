/// The moment at which a command stops waiting, whatever it waits for.
struct Deadline {
    private let end: ContinuousClock.Instant

    init(after duration: Duration) {
        end = .now + duration
    }

    var isOver: Bool { ContinuousClock.now >= end }

    /// What is left, never negative.
    var remaining: Duration { max(.zero, end - .now) }

    /// What is left, but no longer than a step after which to look around.
    func step(_ longest: Duration = .milliseconds(100)) -> Duration { min(remaining, longest) }
}
