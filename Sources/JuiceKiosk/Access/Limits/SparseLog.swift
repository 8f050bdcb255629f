import Logging
import Synchronization

/// Warns of what strangers may do as often as they like: with one line a second, which counts what had none.
final class SparseLog: Sendable {
    private static let pause = Duration.seconds(1)

    private struct Incident {
        let address: IPAddress?
        let path: String
    }

    private struct State {
        var heldBack: (first: Incident, count: Int)?
        var toldAt: ContinuousClock.Instant?
    }

    private let message: String
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameter message: what has happened.
    init(
        _ message: String,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.message = message
        self.logger = logger
        self.now = now
    }

    /// It has happened once more.
    func add(from address: IPAddress?, path: String) {
        let incident = Incident(address: address, path: path)
        let now = now()
        let due: (first: Incident, count: Int)? = state.withLock { state in
            state.heldBack = (state.heldBack?.first ?? incident, (state.heldBack?.count ?? 0) + 1)
            if let last = state.toldAt, now - last < Self.pause { return nil }
            state.toldAt = now
            return state.heldBack.take()
        }
        if let due { tell(due) }
    }

    /// Tells what was held back: nothing more will come.
    func close() {
        if let rest = state.withLock({ $0.heldBack.take() }) { tell(rest) }
    }

    private func tell(_ incidents: (first: Incident, count: Int)) {
        let others = incidents.count == 1 ? "" : ", and \(incidents.count - 1) more after it"
        logger.warning(
            "\(message)\(others)",
            metadata: [
                "address": "\(incidents.first.address?.description ?? "unknown")",
                "path": "\(incidents.first.path)",
            ]
        )
    }
}
