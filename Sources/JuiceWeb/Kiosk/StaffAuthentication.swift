import Logging
import Synchronization

/// A secret that staff need to edit stock: a token, or a PIN, which people can type.
package struct StaffSecret: Sendable, CustomStringConvertible {
    /// How long a token may be, in bytes. An attacker with many addresses can try often.
    package static let tokenLengths = 16...256
    package static let pinLengths = 6...15

    let isPIN: Bool
    private let bytes: [UInt8]

    /// A token; nil if the text is too short, too long, or not printable ASCII without spaces, as a header needs it.
    package init?(token text: String) { self.init(text, isPIN: false, Self.tokenLengths, of: 0x21...0x7E) }

    /// A PIN; nil if the text is too short, too long, or not all digits.
    package init?(pin text: String) { self.init(text, isPIN: true, Self.pinLengths, of: 0x30...0x39) }

    private init?(_ text: String, isPIN: Bool, _ lengths: ClosedRange<Int>, of characters: ClosedRange<UInt8>) {
        guard lengths.contains(text.utf8.count), text.utf8.allSatisfy(characters.contains) else { return nil }
        (self.isPIN, bytes) = (isPIN, Array(text.utf8))
    }

    /// Whether the text is the secret. The time depends on the text's length only, not on how much of it is right.
    func matches(_ text: some StringProtocol) -> Bool {
        let given = Array(text.utf8.prefix(Self.tokenLengths.upperBound + 1))
        var difference = given.count ^ bytes.count
        for (index, byte) in given.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    /// Hides the secret: configurations may be printed.
    package var description: String { "********" }
}

/// Signs browsers in with a staff secret, and remembers them. Wrong secrets make the next PIN wait, longer each time. The token
/// never waits: it is too long to be guessed, so strangers cannot lock staff out.
final class StaffAuthenticator: Sendable {
    /// How many wrong secrets in a row cause no wait: people mistype.
    static let freeTries = 5
    /// How long they are remembered after the last one.
    static let memory = Duration.seconds(2 * 3600)
    /// How long a browser stays signed in after the session was last used.
    static let sessionLength = Duration.seconds(12 * 3600)
    private static let longestWait = Duration.seconds(60)
    private static let mostSessions = 1000

    private struct Failures {
        private var count = 0
        private var last: ContinuousClock.Instant?

        mutating func add(at now: ContinuousClock.Instant) {
            if let last, now - last > memory { count = 0 }
            (count, last) = (count + 1, now)
        }

        /// How long the next try has to wait: 1 s, 2 s, 4 s … after each failure that is not free.
        func wait(at now: ContinuousClock.Instant) -> Duration {
            guard let last, count > freeTries else { return .zero }
            return max(.zero, min(.seconds(1 << min(count - freeTries - 1, 10)), longestWait) - (now - last))
        }
    }

    private struct Session {
        var usedAt: ContinuousClock.Instant
        var isSignedOut = false
        /// A browser in which staff signed in has its own tries. Guesses from elsewhere do not make it wait.
        var failures = Failures()
    }

    private struct State {
        var failures = Failures()
        /// By their ids. Only staff can add one.
        var sessions: [String: Session] = [:]
    }

    private let secrets: [StaffSecret]
    private let log: SpacedWarnings
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    init(_ secrets: [StaffSecret], logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.secrets, self.now) = (secrets, now)
        log = SpacedWarnings(logger, now: now)
    }

    /// Signs a browser in, and returns its new session's id, which cannot be guessed.
    ///
    /// - Parameters:
    ///   - secret: the token or PIN that was sent; nil if none was.
    ///   - session: the browser's session, which this one replaces.
    ///   - peer: the other end of the connection, for the log.
    /// - Throws: ``Refusal`` if it has no secret, or has to wait.
    func signIn(with secret: String?, session: String?, from peer: String) throws(Refusal) -> String {
        guard !secrets.isEmpty else { throw .editingIsOff }
        let (now, id) = (now(), (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }.joined())
        let refusal: Refusal? = state.withLock { state in
            let known = session.flatMap { state.sessions[$0] }
            var failures = known?.failures ?? state.failures
            let wait = failures.wait(at: now)
            // During a wait a PIN is not compared: the refusal would say whether it was right.
            if secrets.contains(where: { (wait <= .zero || !$0.isPIN) && $0.matches(secret ?? "") }) {
                if let session { state.sessions[session] = nil }
                let oldest =
                    state.sessions.count < Self.mostSessions ? nil : state.sessions.min { $0.value.usedAt < $1.value.usedAt }
                if let oldest { state.sessions[oldest.key] = nil }
                state.sessions[id] = Session(usedAt: now)
                return nil
            }
            guard wait <= .zero else { return .tooManyTries(wait: wait) }
            failures.add(at: now)
            if let session, known != nil { state.sessions[session]?.failures = failures } else { state.failures = failures }
            return .wrongToken
        }
        guard let refusal else { return id }
        // Also one that has to wait, so that the log shows how long a guesser goes on.
        log.warn("a staff sign-in was refused", ["address": "\(peer)"])
        throw refusal
    }

    /// Whether a browser is signed in. If so, its session is extended.
    func isSignedIn(_ session: String?) -> Bool {
        guard let session else { return false }
        let now = now()
        return state.withLock { state in
            guard let known = state.sessions[session], !known.isSignedOut, now - known.usedAt < Self.sessionLength else {
                return false
            }
            state.sessions[session]?.usedAt = now
            return true
        }
    }

    /// - Throws: ``Refusal`` if the browser is not signed in.
    func admit(_ session: String?) throws(Refusal) {
        guard !secrets.isEmpty else { throw .editingIsOff }
        guard isSignedIn(session) else { throw .signedOut }
    }

    /// Signs a browser out. It is remembered, so that strangers' guesses do not make it wait.
    func signOut(_ session: String?) { if let session { state.withLock { $0.sessions[session]?.isSignedOut = true } } }
}
