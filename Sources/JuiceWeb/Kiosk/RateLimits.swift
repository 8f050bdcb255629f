import Logging
import Synchronization

/// Limits how many orders a second are accepted: a token bucket that holds ten seconds' worth. Resent orders count again.
///
/// The limit bounds how many ids strangers can push out of the service's duplicate memory: by default at most 360,000 an hour, of
/// 1,000,000 per partition. To share it out among clients is a reverse proxy's part.
final class OrderRateLimiter: Sendable {
    /// How long an empty bucket takes to fill.
    private static let span = Duration.seconds(10)

    private let perSecond: Int
    /// When the bucket will be full again; nil if it always was.
    private let fullAt = Mutex(ContinuousClock.Instant?.none)
    private let log: SpacedWarning
    private let now: @Sendable () -> ContinuousClock.Instant

    init(perSecond: Int, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.perSecond, self.now) = (perSecond, now)
        log = SpacedWarning("too many orders a second: one was refused", logger: logger, now: now)
    }

    /// Throws ``Refusal`` if the order has to wait. The address of the peer and the requested path are for the log.
    func admit(from peer: String, path: String) throws(Refusal) {
        let now = now()
        let wait = fullAt.withLock { fullAt in
            let full = max(fullAt ?? now, now) + .seconds(1) / perSecond
            let wait = now.duration(to: full) - Self.span
            if wait <= .zero { fullAt = full }
            return wait
        }
        guard wait > .zero else { return }
        log.add(from: peer, path: path)
        throw .tooManyOrders(wait: wait)
    }

    /// Logs what is still held back. No order follows.
    func close() { log.flush() }
}

/// A dictionary that keeps the keys set last: at least `capacity` of them, fewer than twice as many.
///
/// Two generations take turns: when the newer one is full, it replaces the older. So no entry has to be searched for to evict.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var latest: [Key: Value] = [:]
    private var former: [Key: Value] = [:]

    init(capacity: Int) { self.capacity = capacity }

    subscript(key: Key) -> Value? {
        get { latest[key] ?? former[key] }
        set {
            former[key] = nil
            latest[key] = newValue
            if latest.count == capacity { (latest, former) = ([:], latest) }
        }
    }

    var keys: [Key] { Array(latest.keys) + Array(former.keys) }
}

/// A warning that strangers can provoke without limit: at most one line per second, which counts those held back.
final class SpacedWarning: Sendable {
    private static let pause = Duration.seconds(1)

    private struct State {
        /// The first occurrence since the last line, and how many there were.
        var heldBack: (peer: String, path: String, count: Int)?
        var warnedAt: ContinuousClock.Instant?
    }

    private let message: String
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    init(_ message: String, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        (self.message, self.logger, self.now) = (message, logger, now)
    }

    /// Logs an occurrence, unless a line was logged just before.
    func add(from peer: String, path: String) {
        let now = now()
        let isDue = state.withLock { state in
            state.heldBack = state.heldBack ?? (peer, path, 0)
            state.heldBack?.count += 1
            if let last = state.warnedAt, now - last < Self.pause { return false }
            state.warnedAt = now
            return true
        }
        if isDue { flush() }
    }

    /// Logs what is held back.
    func flush() {
        guard let (peer, path, count) = state.withLock({ $0.heldBack.take() }) else { return }
        let others = count == 1 ? "" : ", and \(count - 1) more after it"
        logger.warning("\(message)\(others)", metadata: ["address": "\(peer)", "path": "\(path)"])
    }
}
