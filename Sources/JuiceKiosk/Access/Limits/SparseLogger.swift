import Logging
import Synchronization

/// Logs warnings that strangers can provoke without limit, at most one line per second. Each line counts those held back.
final class SparseLogger: Sendable {
    private static let pause = Duration.seconds(1)

    private struct Incident {
        let address: IPAddress?
        let path: String
    }

    private struct State {
        var heldBack: (first: Incident, count: Int)?
        var warnedAt: ContinuousClock.Instant?
    }

    private let message: String
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameter message: what happened.
    init(_ message: String, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.message = message
        self.logger = logger
        self.now = now
    }

    /// Adds one occurrence, and logs it unless a line was logged just before.
    func add(from address: IPAddress?, path: String) {
        let incident = Incident(address: address, path: path)
        let now = now()
        let due: (first: Incident, count: Int)? = state.withLock { state in
            state.heldBack = (state.heldBack?.first ?? incident, (state.heldBack?.count ?? 0) + 1)
            if let last = state.warnedAt, now - last < Self.pause { return nil }
            state.warnedAt = now
            return state.heldBack.take()
        }
        if let due { warn(of: due) }
    }

    /// Logs what is still held back. Nothing is added afterwards.
    func close() {
        if let rest = state.withLock({ $0.heldBack.take() }) { warn(of: rest) }
    }

    private func warn(of incidents: (first: Incident, count: Int)) {
        let others = incidents.count == 1 ? "" : ", and \(incidents.count - 1) more after it"
        logger.warning(
            "\(message)\(others)",
            metadata: ["address": "\(incidents.first.address?.description ?? "unknown")", "path": "\(incidents.first.path)"])
    }
}
