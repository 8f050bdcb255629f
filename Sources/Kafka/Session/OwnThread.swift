import Foundation

/// Runs blocking work on threads of its own.
///
/// librdkafka's calls block. On one of Swift's cooperative threads, of which there are as many as cores, they would
/// stall tasks that have nothing to do with Kafka.
public enum OwnThread {
    /// Something to do on a thread of that name.
    public struct Work<Success: Sendable>: Sendable {
        let name: String
        let body: @Sendable () throws -> Success

        /// Work that is not begun.
        public init(name: String, body: @escaping @Sendable () throws -> Success) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `work` on a new thread of that name and returns what it returns.
    public static func run<Success: Sendable>(
        _ name: String,
        _ work: @escaping @Sendable () throws -> Success
    ) async throws -> Success {
        try await withCheckedThrowingContinuation { continuation in
            start(name) { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Runs several works, each on a new thread of its name, until all have ended. The first that fails stops the others.
    ///
    /// Some calls of librdkafka wait for a broker whatever timeout they are given. Work that has not ended some time after
    /// it was asked to stop, `stopTimeout`, is left to itself: the process is about to end.
    /// - Returns: what they returned, of those that ended in time.
    /// - Throws: what the first that failed has thrown.
    public static func runAll<Success: Sendable>(
        _ works: [Work<Success>],
        until stop: StopSignal,
        stopTimeout: Duration
    ) async throws -> [Success] {
        let (ends, end) = AsyncStream.makeStream(of: Result<Success, any Error>.self)
        stop.onRequest {
            Task.detached {
                try? await Task.sleep(for: stopTimeout)
                end.finish()
            }
        }
        for work in works {
            start(work.name) { end.yield(Result(catching: work.body)) }
        }

        var results: [Result<Success, any Error>] = []
        while results.count < works.count, let result = await next(of: ends) {
            if case .failure = result { stop.request() }
            results.append(result)
        }
        // Failures are told in the order in which they came: the others may be a consequence of the first.
        for case .failure(let error) in results { throw error }
        return try results.map { try $0.get() }
    }

    /// Goes on waiting where the task is cancelled: the works are asked to stop then, and have not yet.
    private static func next<Element: Sendable>(of stream: AsyncStream<Element>) async -> Element? {
        await Task.detached { await stream.first { _ in true } }.value
    }

    private static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.start()
    }
}
