/// The pause after consecutive failures: 10 ms after the first, doubled with each, up to a second.
public struct Backoff: Sendable {
    /// Failures since the last success.
    public private(set) var failures = 0

    /// No failure yet.
    public init() {}

    /// Counts a failure.
    ///
    /// - Returns: how long to wait before the next attempt.
    public mutating func failed() -> Duration {
        failures += 1
        return Self.pause(after: failures)
    }

    /// The pause after a number of consecutive failures.
    public static func pause(after failures: Int) -> Duration {
        .milliseconds(min(1000, 10 << min(max(failures, 1) - 1, 7)))
    }
}

/// Repeats a call while its error says ``KafkaError/Remedy/retry`` and `isWorthWaiting` returns true.
public func retrying(
    while isWorthWaiting: () -> Bool,
    _ call: () throws(KafkaError) -> Void
) throws(KafkaError) {
    while true {
        do throws(KafkaError) {
            return try call()
        } catch {
            guard error.remedy == .retry, isWorthWaiting() else { throw error }
        }
    }
}
