import Logging
import Synchronization

/// Lets in whoever knows the staff token. An address that goes on giving wrong ones has to wait longer each time, and meanwhile
/// nobody there is let in.
final class StaffDoor: Sendable {
    /// How many wrong ones in a row cost no time: people mistype.
    static let freeTries = 5
    /// How long to wait at most.
    static let longestWait = Duration.seconds(60)
    /// After so long without a wrong one an address begins anew.
    static let memory = Duration.seconds(600)
    /// How many addresses are told apart at least.
    static let addresses = 10_000

    private struct Failures {
        var count = 0
        var last: ContinuousClock.Instant

        var openAt: ContinuousClock.Instant {
            guard count > freeTries else { return last }
            // 1 s, 2 s, 4 s …
            return last + min(.seconds(1 << min(count - freeTries - 1, 10)), longestWait)
        }
    }

    private let token: StaffToken?
    private let log: SparseLog
    private let now: @Sendable () -> ContinuousClock.Instant
    private let failures = Mutex(RecentTable<IPAddress?, Failures>(capacity: addresses))

    /// - Parameter token: what opens it; nil lets nobody in.
    init(
        _ token: StaffToken?,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.token = token
        self.now = now
        log = SparseLog("a wrong staff token", logger: logger, now: now)
    }

    /// Lets a request in.
    ///
    /// - Parameters:
    ///   - authorization: its header of this name.
    ///   - path: what it asks for, for the log.
    /// - Throws: ``Refusal`` where it is not let in.
    func enter(authorization: String?, from address: IPAddress?, path: String) throws(Refusal) {
        guard let token else { throw .editingIsOff }
        let now = now()
        let refusal: Refusal? = failures.withLock { failures in
            var known = failures[address?.client] ?? Failures(last: now)
            if now - known.last > Self.memory { known.count = 0 }
            guard known.openAt <= now else { return .tooManyTries(wait: now.duration(to: known.openAt)) }
            guard !token.matches(authorization: authorization) else {
                failures[address?.client] = nil
                return nil
            }
            known.count += 1
            known.last = now
            failures[address?.client] = known
            return .wrongToken
        }
        guard let refusal else { return }
        if refusal.code == Refusal.wrongToken.code { log.add(from: address, path: path) }
        throw refusal
    }

    /// Nobody will come any more.
    func close() { log.close() }
}
