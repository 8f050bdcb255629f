import Synchronization

/// Detects threads that hang, by the steps they report. A thread that hangs does not recover, so the process should be
/// restarted.
public final class StepWatch: Sendable {
    /// A thread whose step takes longer than this hangs. Calls that wait for a broker end after some seconds.
    public static let longestStep = Duration.seconds(120)

    /// The time of each thread's last step, by its name; nil once the thread has ended.
    private let steps = Mutex<[String: ContinuousClock.Instant?]>([:])

    /// A watch that knows no threads yet.
    public init() {}

    /// A thread has made a step, or is about to make its first.
    public func stepped(_ thread: String, now: ContinuousClock.Instant = .now) {
        steps.withLock { if $0[thread] != .some(nil) { $0[thread] = now } }
    }

    /// A thread has ended, and is no longer watched.
    public func ended(_ thread: String) { steps.withLock { $0[thread] = .some(nil) } }

    /// One sentence for each thread that hangs.
    public func stuck(at now: ContinuousClock.Instant = .now) -> [String] {
        steps.withLock { $0 }.compactMapValues(\.self).mapValues { now - $0 }.filter { $1 > Self.longestStep }
            .sorted { $0.key < $1.key }
            .map { "\($0) has been stuck for \($1.components.seconds) s" }
    }
}
