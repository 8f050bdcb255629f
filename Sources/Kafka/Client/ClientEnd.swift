import Dispatch
import Synchronization

/// Ends clients on threads of their own, and waits for that only briefly.
///
/// `rd_kafka_destroy` and `rd_kafka_consumer_close` wait for brokers, and may never return: for example in librdkafka 2.0.2 after
/// the right to read a topic was taken away. A thread that is stuck in one is left behind, with all that the call uses.
enum ClientEnd {
    /// How long to wait for an end.
    static let patience = Duration.seconds(1)
    /// How long to wait for the next ends once one has taken longer, so that a process with many clients can stop in time.
    private static let patienceAfterHang = Duration.milliseconds(100)
    private static let hangWindow = Duration.seconds(10)

    private static let hungAt = Mutex<ContinuousClock.Instant?>(nil)

    /// Makes calls that end a client.
    ///
    /// - Parameters:
    ///   - patience: how long to wait for them.
    ///   - group: is left when they have returned.
    static func run(patience: Duration = patience, group: DispatchGroup? = nil, _ calls: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        // What the calls hold is freed before anybody hears that they are over. Only the new thread uses it.
        nonisolated(unsafe) var work: (() -> Void)? = calls
        group?.enter()
        OwnThread.start("client's end") {
            work?()
            work = nil
            done.signal()
            group?.leave()
        }
        let isHanging = hungAt.withLock { $0.map { .now - $0 < hangWindow } ?? false }
        let limit = isHanging ? min(patience, patienceAfterHang) : patience
        guard limit > .zero, done.wait(timeout: limit.fromNow) == .timedOut else { return }
        hungAt.withLock { $0 = .now }
    }
}

extension Duration {
    /// The time for Dispatch at which this duration is over.
    var fromNow: DispatchTime { .now() + .milliseconds(Int(milliseconds)) }
}
