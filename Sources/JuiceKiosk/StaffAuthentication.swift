import Logging
import Synchronization

/// The secret that staff need to edit stock.
package struct StaffToken: Sendable, CustomStringConvertible {
    /// The shortest token, in bytes: an attacker with many addresses can try often.
    package static let minimumLength = 16
    /// The longest token, in bytes.
    package static let maximumLength = 256

    private let bytes: [UInt8]

    /// Creates a token; nil if the text is too short, too long, or not printable ASCII without spaces, as a header needs it.
    package init?(_ text: String) {
        guard (Self.minimumLength...Self.maximumLength).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        bytes = Array(text.utf8)
    }

    /// Whether the text is the token. The time depends on the text's length only, not on how much of it is right.
    func matches(_ text: some StringProtocol) -> Bool {
        let given = Array(text.utf8.prefix(Self.maximumLength + 1))
        var difference = given.count ^ bytes.count
        for (index, byte) in given.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    /// Whether the value of an `Authorization` header is `Bearer` and the token.
    func matches(authorization: String?) -> Bool {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return false }
        return matches(authorization.dropFirst(7))
    }

    /// Hides the token: configurations may be printed.
    package var description: String { "********" }
}

/// Admits requests with the staff token. An address that keeps sending wrong tokens is locked out for longer each time, also for
/// the right token.
final class StaffAuthenticator: Sendable {
    /// How many wrong tokens in a row cause no lockout: people mistype.
    static let freeTries = 5
    /// The longest lockout.
    static let longestLockout = Duration.seconds(60)
    /// How long an address's failures are remembered after the last one.
    static let memory = Duration.seconds(600)
    /// At least this many addresses are remembered.
    static let addresses = 10_000

    private struct Failures {
        var count = 0
        var last: ContinuousClock.Instant

        var lockedUntil: ContinuousClock.Instant {
            guard count > freeTries else { return last }
            // 1 s, 2 s, 4 s …
            return last + min(.seconds(1 << min(count - freeTries - 1, 10)), longestLockout)
        }
    }

    private let token: StaffToken?
    private let log: SpacedWarning
    private let now: @Sendable () -> ContinuousClock.Instant
    private let failures = Mutex(RecentTable<IPAddress?, Failures>(capacity: addresses))

    /// - Parameter token: the staff token; nil admits nobody.
    init(_ token: StaffToken?, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.token, self.now) = (token, now)
        log = SpacedWarning("a wrong staff token", logger: logger, now: now)
    }

    /// - Parameters:
    ///   - authorization: the value of the request's `Authorization` header.
    ///   - path: the requested path, for the log.
    /// - Throws: ``Refusal`` if the request is not admitted.
    func authenticate(authorization: String?, from address: IPAddress?, path: String) throws(Refusal) {
        guard let token else { throw .editingIsOff }
        let now = now()
        let refusal: Refusal? = failures.withLock { failures in
            var known = failures[address?.client] ?? Failures(last: now)
            if now - known.last > Self.memory { known.count = 0 }
            guard known.lockedUntil <= now else { return .tooManyTries(wait: now.duration(to: known.lockedUntil)) }
            guard !token.matches(authorization: authorization) else {
                failures[address?.client] = nil
                return nil
            }
            known = Failures(count: known.count + 1, last: now)
            failures[address?.client] = known
            return .wrongToken
        }
        guard let refusal else { return }
        if refusal.code == Refusal.wrongToken.code { log.add(from: address, path: path) }
        throw refusal
    }

    /// Logs what is still held back. No request follows.
    func close() { log.flush() }
}
