/// Lets so many tests at a time run a service that each gets its share of the CPU: with too many at once, group sessions
/// time out, and the tests would show the machine's limits rather than the service's.
actor Places {
    static let forServices = Places(count: 16)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) { free = count }

    nonisolated func withPlace<Result: Sendable>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        await take()
        do {
            let result = try await body()
            await leave()
            return result
        } catch {
            await leave()
            throw error
        }
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func leave() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
