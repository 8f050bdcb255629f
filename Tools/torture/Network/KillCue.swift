import Synchronization

/// Times the killing of instances by late requests. The next transaction often repairs the harm of a late request, so a round that
/// is about to kill an instance can wait for the moment at which that is worst.
final class KillCue: Sendable {
    private struct State {
        var isArmed = false
        var transactionalID: String?
        var pausedUntil = Duration.zero
    }

    /// How long the proxy holds up the harmed instance, so that the round can kill it in time.
    static let pause = Duration.milliseconds(500)

    private let state = Mutex(State())

    /// Waits for the next harmful late request.
    func arm() { state.withLock { $0 = State(isArmed: true) } }

    /// Stops waiting, and releases the harmed instance.
    func disarm() { state.withLock { $0 = State() } }

    /// The id of the harmed instance, if any. Transactional ids are `GROUP/INSTANCE/WORKER/SET/INDEX`.
    var instance: String? {
        let parts = state.withLock { $0.transactionalID }?.split(separator: "/") ?? []
        return parts.count == 5 ? String(parts[1]) : nil
    }

    /// Signals that a late request did harm to a transaction.
    func signal(harmed transactionalID: String, at now: Duration) {
        state.withLock { state in
            guard state.isArmed, state.transactionalID == nil else { return }
            (state.transactionalID, state.pausedUntil) = (transactionalID, now + Self.pause)
        }
    }

    /// Whether a transactional id is held up so that its owner can be killed.
    func isHolding(_ transactionalID: String, at now: Duration) -> Bool {
        state.withLock { $0.transactionalID == transactionalID && now < $0.pausedUntil }
    }
}
