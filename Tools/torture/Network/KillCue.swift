import Synchronization

/// Brings the rounds together with the late requests: harm that a late request did is often made good by the next transaction,
/// so a round that is about to kill an instance anyway may ask to be told when that would hurt most.
final class KillCue: Sendable {
    private struct State {
        var isAsked = false
        var transactionalID: String?
        var pausedUntil = Duration.zero
    }

    /// For so long the proxy holds up whom it hurts, so that the round comes in time.
    static let pause = Duration.milliseconds(500)

    private let state = Mutex(State())

    /// Asks, or asks no more.
    func ask(_ isAsked: Bool) { state.withLock { $0 = State(isAsked: isAsked) } }

    /// Whom it would hurt now.
    var transactionalID: String? { state.withLock { $0.transactionalID } }

    /// - Returns: whether anybody had asked.
    func record(harmed transactionalID: String, at now: Duration) -> Bool {
        state.withLock { state in
            guard state.isAsked, state.transactionalID == nil else { return false }
            state.transactionalID = transactionalID
            state.pausedUntil = now + Self.pause
            return true
        }
    }

    /// Whether a transactional id is held up so that its owner can be killed.
    func isHolding(_ transactionalID: String, at now: Duration) -> Bool {
        state.withLock { $0.transactionalID == transactionalID && now < $0.pausedUntil }
    }
}
