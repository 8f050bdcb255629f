import Logging
import Synchronization

/// Admits requests with the staff token. An address that keeps sending wrong tokens is locked out for longer each time, also for
/// the right token.
final class StaffDoor: Sendable {
    /// How many wrong tokens in a row cause no lockout: people mistype.
    static let freeTries = 5
    /// The longest lockout.
    static let longestWait = Duration.seconds(60)
    /// How long an address's failures are remembered after the last one.
    static let memory = Duration.seconds(600)
    /// At least this many addresses are remembered.
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
    private let log: SparseLogger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let failures = Mutex(RecentTable<IPAddress?, Failures>(capacity: addresses))

    /// - Parameter token: the staff token; nil admits nobody.
    init(_ token: StaffToken?, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.token = token
        self.now = now
        log = SparseLogger("a wrong staff token", logger: logger, now: now)
    }

    /// Admits a request or throws.
    ///
    /// - Parameters:
    ///   - authorization: the value of its `Authorization` header.
    ///   - path: the requested path, for the log.
    /// - Throws: ``Refusal`` if it is not admitted.
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

    /// Logs what is still held back. No request follows.
    func close() { log.close() }
}
