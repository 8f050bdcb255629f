import Synchronization

/// Whether threads still get on: each says so with every step that it makes. One that hangs will not mend itself, so the process
/// should be restarted.
public final class StepWatch: Sendable {
    /// A thread that takes longer for one step than this hangs. Calls that wait for a broker end after some seconds.
    public static let longestStep = Duration.seconds(120)

    /// By the thread's name; nil once it is to make no more steps.
    private let steps = Mutex<[String: ContinuousClock.Instant?]>([:])

    /// A watch over no thread yet.
    public init() {}

    /// A thread made a step, or is about to make its first.
    public func stepped(_ thread: String, now: ContinuousClock.Instant = .now) {
        steps.withLock { if $0[thread] != .some(nil) { $0[thread] = now } }
    }

    /// A thread makes no step any more.
    public func ended(_ thread: String) { steps.withLock { $0[thread] = .some(nil) } }

    /// Of each thread that hangs a sentence for a person.
    public func stuck(at now: ContinuousClock.Instant = .now) -> [String] {
        steps.withLock { $0 }.compactMapValues(\.self).mapValues { now - $0 }.filter { $1 > Self.longestStep }
            .sorted { $0.key < $1.key }
            .map { "\($0) has been stuck for \($1.components.seconds) s" }
    }
}
