import Logging
import Synchronization

/// How many orders a kiosk accepts per second. A burst may be as large as ten seconds' worth.
///
/// The limits bound how many ids strangers can push out of the service's duplicate memory: by default at most 360,000 an hour, of
/// 1,000,000 per partition.
public struct OrderLimits: Sendable, Equatable {
    /// Orders per second from all addresses together.
    public var inAll: Int
    /// Orders per second from one address; with IPv6 from one /64 network.
    public var perAddress: Int

    /// Limits in orders per second, each at least 1.
    public init(inAll: Int = 100, perAddress: Int = 5) {
        self.inAll = inAll
        self.perAddress = perAddress
    }
}

/// Limits the rate of orders, per address and in total.
///
/// A page that missed the answer sends its order again. Such a resend takes no new id in the service's duplicate memory, and it has
/// a limit of its own: otherwise a flood of new orders could keep a page from its answer.
final class OrderGate: Sendable {
    /// At least this many addresses are remembered, those seen last.
    static let addresses = 10_000
    /// At least this many accepted orders are remembered.
    static let passedOrders = 50_000

    /// Two token buckets that an order has to pass.
    private struct Limiter {
        let inAll: RateLimit
        let perAddress: RateLimit
        var fullAt: ContinuousClock.Instant?
        var fullAtOfAddress = RecentTable<IPAddress?, ContinuousClock.Instant>(capacity: addresses)

        init(_ limits: OrderLimits) {
            inAll = RateLimit(perSecond: limits.inAll)
            perAddress = RateLimit(perSecond: limits.perAddress)
        }

        /// Lets one order pass.
        ///
        /// - Returns: how long it has to wait; nil if it passed.
        mutating func pass(_ address: IPAddress?, now: ContinuousClock.Instant) -> Duration? {
            let ofAddress = fullAtOfAddress[address]
            let wait = max(inAll.wait(fullAt, now: now), perAddress.wait(ofAddress, now: now))
            guard wait <= .zero else { return wait }
            fullAt = inAll.passing(fullAt, now: now)
            fullAtOfAddress[address] = perAddress.passing(ofAddress, now: now)
            return nil
        }
    }

    private struct State {
        var first: Limiter
        var again: Limiter
        /// By hash. Hashes are seeded per process, so nobody can construct a collision.
        var passed = RecentTable<Int, Void>(capacity: passedOrders)
    }

    private let state: Mutex<State>
    private let log: SparseLogger
    private let now: @Sendable () -> ContinuousClock.Instant

    init(_ limits: OrderLimits, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        state = Mutex(State(first: Limiter(limits), again: Limiter(limits)))
        log = SparseLogger("too many orders a second: one was refused", logger: logger, now: now)
        self.now = now
    }

    /// Lets an order pass or throws.
    ///
    /// - Parameter path: the requested path, for the log.
    /// - Throws: ``Refusal`` if it has to wait.
    func pass(_ order: AwaitedAnswers.Command, from address: IPAddress?, path: String) throws(Refusal) {
        let now = now()
        let hash = order.hashValue
        let wait: Duration? = state.withLock { state in
            guard state.passed[hash] == nil else { return state.again.pass(address?.client, now: now) }
            if let wait = state.first.pass(address?.client, now: now) { return wait }
            state.passed[hash] = ()
            return nil
        }
        guard let wait else { return }
        log.add(from: address, path: path)
        throw .tooManyOrders(wait: wait)
    }

    /// Logs what is still held back. No order follows.
    func close() { log.close() }
}

/// A token bucket that holds ten seconds' worth.
///
/// The state of a bucket is one instant: when it will be full again. A bucket without a state is full.
struct RateLimit: Sendable {
    /// How long an empty bucket takes to fill.
    static let span = Duration.seconds(10)

    /// Tokens per second, at least 1.
    let perSecond: Int

    /// How long to wait for the next token; zero or negative if there is one now.
    func wait(_ fullAt: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Duration {
        now.duration(to: passing(fullAt, now: now)) - Self.span
    }

    /// When the bucket will be full again after taking one token.
    func passing(_ fullAt: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        max(fullAt ?? now, now) + .seconds(1) / perSecond
    }
}
