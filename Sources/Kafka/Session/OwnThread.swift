import Foundation

/// Runs blocking work on new threads.
///
/// librdkafka's calls block. Swift has as many cooperative threads as cores, and a blocked one stalls tasks that have nothing
/// to do with Kafka.
public enum OwnThread {
    /// Work for a thread of a given name.
    public struct Work<Success: Sendable>: Sendable {
        let name: String
        let body: @Sendable () throws -> Success

        /// Work that has not begun.
        public init(name: String, body: @escaping @Sendable () throws -> Success) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `work` on a new thread and returns its result.
    public static func run<Success: Sendable>(
        _ name: String,
        _ work: @escaping @Sendable () throws -> Success
    ) async throws -> Success {
        try await withCheckedThrowingContinuation { continuation in
            start(name) { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Runs each work on a thread of its own until all have ended. If one fails, the others are asked to stop.
    ///
    /// Some of librdkafka's calls wait for a broker whatever their timeout. Work that has not ended `stopTimeout` after the
    /// request to stop is abandoned: the process is about to end.
    /// - Returns: the results of the works that ended in time.
    /// - Throws: the error of the first work that failed.
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
        for work in works { start(work.name) { end.yield(Result(catching: work.body)) } }

        var results: [Result<Success, any Error>] = []
        while results.count < works.count, let result = await next(of: ends) {
            if case .failure = result { stop.request() }
            results.append(result)
        }
        // In the order in which they came: later failures may be a consequence of the first.
        for case .failure(let error) in results { throw error }
        return try results.map { try $0.get() }
    }

    /// Keeps waiting when the task is cancelled: the works have been asked to stop but have not ended yet.
    private static func next<Element: Sendable>(of stream: AsyncStream<Element>) async -> Element? {
        await Task.detached { await stream.first { _ in true } }.value
    }

    static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.start()
    }
}
