import Logging
import Synchronization

/// How many orders a kiosk accepts per second. A burst may be as large as ten seconds' worth.
///
/// The limits bound how many ids strangers can push out of the service's duplicate memory: by default at most 360,000 an hour, of
/// 1,000,000 per partition.
package struct OrderLimits: Sendable, Equatable {
    /// Orders per second from all addresses together, at least 1.
    package let inAll: Int
    /// Orders per second from one address, at least 1; with IPv6 from one /64 network.
    package let perAddress: Int

    package init(inAll: Int = 100, perAddress: Int = 5) { (self.inAll, self.perAddress) = (inAll, perAddress) }
}

/// Limits the rate of orders, per address and in total. An order that is sent again counts again.
final class OrderRateLimiter: Sendable {
    /// At least this many addresses are remembered, those seen last.
    static let addresses = 10_000

    private struct State {
        var total = TokenBucket()
        var ofAddress = RecentTable<IPAddress?, TokenBucket>(capacity: addresses)
    }

    private let limits: OrderLimits
    private let state = Mutex(State())
    private let log: SpacedWarning
    private let now: @Sendable () -> ContinuousClock.Instant

    init(_ limits: OrderLimits, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.limits, self.now) = (limits, now)
        log = SpacedWarning("too many orders a second: one was refused", logger: logger, now: now)
    }

    /// - Parameter path: the requested path, for the log.
    /// - Throws: ``Refusal`` if the order has to wait.
    func admit(from address: IPAddress?, path: String) throws(Refusal) {
        let (client, now) = (address?.client, now())
        let wait = state.withLock { state in
            var (total, own) = (state.total, state.ofAddress[client] ?? TokenBucket())
            let wait = max(total.take(perSecond: limits.inAll, now: now), own.take(perSecond: limits.perAddress, now: now))
            if wait <= .zero { (state.total, state.ofAddress[client]) = (total, own) }
            return wait
        }
        guard wait > .zero else { return }
        log.add(from: address, path: path)
        throw .tooManyOrders(wait: wait)
    }

    /// Logs what is still held back. No order follows.
    func close() { log.flush() }
}

/// A token bucket that holds ten seconds' worth.
private struct TokenBucket {
    /// How long an empty bucket takes to fill.
    private static let span = Duration.seconds(10)

    /// When the bucket will be full again; nil if it always was.
    private var fullAt: ContinuousClock.Instant?

    /// Takes a token. Returns how long to wait for it: then the caller must not keep the changed bucket.
    mutating func take(perSecond: Int, now: ContinuousClock.Instant) -> Duration {
        let full = max(fullAt ?? now, now) + .seconds(1) / perSecond
        fullAt = full
        return now.duration(to: full) - Self.span
    }
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
        var heldBack: (address: IPAddress?, path: String, count: Int)?
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
    func add(from address: IPAddress?, path: String) {
        let now = now()
        let isDue = state.withLock { state in
            state.heldBack = state.heldBack ?? (address, path, 0)
            state.heldBack?.count += 1
            if let last = state.warnedAt, now - last < Self.pause { return false }
            state.warnedAt = now
            return true
        }
        if isDue { flush() }
    }

    /// Logs what is held back.
    func flush() {
        guard let (address, path, count) = state.withLock({ $0.heldBack.take() }) else { return }
        let others = count == 1 ? "" : ", and \(count - 1) more after it"
        logger.warning(
            "\(message)\(others)", metadata: ["address": "\(address?.description ?? "unknown")", "path": "\(path)"])
    }
}
