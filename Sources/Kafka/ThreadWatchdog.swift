import Synchronization

/// Detects threads that hang, by the steps they report. Such a thread does not recover, so the process should be restarted.
package final class ThreadWatchdog: Sendable {
    /// A thread hangs if a step takes longer than this. Calls that wait for a broker end after some seconds.
    package static let longestStep = Duration.seconds(120)

    /// When each thread made its last step; nil once it has ended.
    private let steps = Mutex<[String: ContinuousClock.Instant?]>([:])

    package init() {}

    /// A thread of this name has begun, perhaps not the first one.
    package func began(_ thread: String) { steps.withLock { $0[thread] = .some(.now) } }

    package func stepped(_ thread: String, now: ContinuousClock.Instant = .now) {
        steps.withLock { if $0[thread] != .some(nil) { $0[thread] = now } }
    }

    package func ended(_ thread: String) { steps.withLock { $0[thread] = .some(nil) } }

    /// One sentence for each thread that hangs.
    package func stuck(at now: ContinuousClock.Instant = .now) -> [String] {
        steps.withLock { $0 }.compactMapValues(\.self).mapValues { now - $0 }.filter { $1 > Self.longestStep }
            .sorted { $0.key < $1.key }
            .map { "\($0) has been stuck for \($1.components.seconds) s" }
    }
}
