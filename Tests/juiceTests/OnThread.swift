import Foundation

/// Runs blocking work away from the threads that tests run on, which are as many as cores.
enum OnThread {
    static func run(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: work)) }.start()
        }
    }
}
