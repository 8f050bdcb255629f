import Foundation

/// Runs blocking work away from the threads that tests run on, which are as many as cores.
package func onThread<Success: Sendable>(_ work: @escaping @Sendable () throws -> Success) async throws -> Success {
    try await withCheckedThrowingContinuation { continuation in Thread { continuation.resume(with: Result(catching: work)) }.start()
    }
}
