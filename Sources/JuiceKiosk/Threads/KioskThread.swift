import Dispatch
import Foundation
import Synchronization

/// Asks the kiosk's threads to end, and cuts short their waiting.
final class KioskStop: Sendable {
    private let flag = Atomic(false)
    private let wake = DispatchSemaphore(value: 0)

    var isRequested: Bool { flag.load(ordering: .acquiring) }

    func request() {
        flag.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Waits, but not past the request.
    func wait(for duration: Duration) {
        // The signal was for every wait to come, too.
        if wake.wait(timeout: .now() + duration / .seconds(1)) == .success { wake.signal() }
    }
}

/// Runs work that blocks, as librdkafka's calls do, on a thread of its own. On one of Swift's cooperative threads, of which
/// there are as many as cores, it would hold up what has nothing to do with Kafka.
enum KioskThread {
    static func run(_ name: String, _ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result(catching: work)) }
            thread.name = name
            thread.start()
        }
    }
}
