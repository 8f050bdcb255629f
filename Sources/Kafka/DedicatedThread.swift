import Foundation

/// Runs work that blocks, as librdkafka's calls do, on new threads. Swift has as many cooperative threads as cores, and a blocked
/// one stalls tasks that have nothing to do with Kafka.
package enum DedicatedThread {
    /// Runs `work` once per name, on a thread of that name, and waits until all have ended. If one fails, asks the others to stop.
    ///
    /// Some librdkafka calls wait for a broker regardless of their timeout. Work that is still running when the time after a
    /// request has passed is abandoned: the process is about to exit.
    ///
    /// - Parameter limits: requests to stop, and how long the work may go on after each.
    /// - Returns: the results of the work that ended in time.
    /// - Throws: the first error.
    package static func runAll<Success: Sendable>(
        _ names: [String], until stop: StopSignal, limits: [(request: StopSignal, time: Duration)],
        _ work: @escaping @Sendable (_ index: Int) throws -> Success
    ) async throws -> [Success] {
        let (ends, end) = AsyncStream.makeStream(of: Result<Success, any Error>.self)
        for (request, time) in limits {
            request.onRequest {
                Task.detached {
                    try? await Task.sleep(for: time)
                    end.finish()
                }
            }
        }
        for (index, name) in names.enumerated() { start(name) { end.yield(Result { try work(index) }) } }

        var results: [Result<Success, any Error>] = []
        while results.count < names.count, let result = await next(of: ends) {
            if case .failure = result { stop.request() }
            results.append(result)
        }
        // In order of arrival: later failures may be consequences of the first.
        return try results.map { try $0.get() }
    }

    /// Keeps waiting when the task is cancelled: the threads have been asked to stop but have not ended yet.
    private static func next<Element: Sendable>(of stream: AsyncStream<Element>) async -> Element? {
        await Task.detached { await stream.first { _ in true } }.value
    }

    static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.start()
    }
}
