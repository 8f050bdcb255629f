import Foundation

/// Runs blocking work on a thread of its own.
///
/// librdkafka's calls block. On one of Swift's cooperative threads, of which there are as many as cores, they would
/// stall tasks that have nothing to do with Kafka.
enum OwnThread {
    /// Runs `work` on a new thread of that name and returns what it returns.
    static func run<Success: Sendable>(
        _ name: String,
        _ work: @escaping @Sendable () throws -> Success
    ) async throws -> Success {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: Result(catching: work))
            }
            thread.name = name
            thread.start()
        }
    }
}
