import Testing

/// Runs tests off the threads that others run on: for those that compute for long.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        try await onThread(body)
    }
}

extension Trait where Self == OwnThread {
    /// For tests that compute for long.
    package static var onOwnThread: Self { OwnThread() }
}
