import Logging
import Synchronization

/// Lets orders pass, so many a second from one address and so many in all.
///
/// An order that passed before and is sent again, since its page missed the answer, takes no id of the service's memory. It does
/// not stand in line with new ones either, or a flood of those could keep it from its answer.
final class OrderGate: Sendable {
    /// How many addresses are told apart at least. Of those that were not seen for longer nothing is known.
    static let addresses = 10_000
    /// How many orders are known at least to have passed.
    static let passedOrders = 50_000

    private struct Line {
        let inAll: RateLimit
        let perAddress: RateLimit
        var fullAt: ContinuousClock.Instant?
        var fullAtOfAddress = RecentTable<IPAddress?, ContinuousClock.Instant>(capacity: addresses)

        init(_ limits: OrderLimits) {
            inAll = RateLimit(perSecond: limits.inAll)
            perAddress = RateLimit(perSecond: limits.perAddress)
        }

        /// Lets one pass unless it has to wait: for so long.
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
        var first: Line
        var again: Line
        /// By their hash, which nobody can foresee.
        var passed = RecentTable<Int, Void>(capacity: passedOrders)
    }

    private let state: Mutex<State>
    private let log: SparseLog
    private let now: @Sendable () -> ContinuousClock.Instant

    init(
        _ limits: OrderLimits,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        state = Mutex(State(first: Line(limits), again: Line(limits)))
        log = SparseLog("too many orders a second: one was refused", logger: logger, now: now)
        self.now = now
    }

    /// Lets an order pass.
    ///
    /// - Parameter path: where it was sent to, for the log.
    /// - Throws: ``Refusal`` where it has to wait.
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

    /// No more will come.
    func close() { log.close() }
}
