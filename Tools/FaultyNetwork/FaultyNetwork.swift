import NIOCore
import NIOPosix
import Synchronization

/// A proxy between clients and Kafka brokers that holds back, cuts, delays and repeats single requests, at random by their kind.
///
/// Each broker has a listener on 127.0.0.1. Responses that name brokers are rewritten to name the listeners, so a client that
/// bootstraps through the proxy reaches all these brokers through it. The connections use neither TLS nor SASL. The proxy lives as
/// long as the process.
package final class FaultyNetwork: Sendable {
    private struct State {
        var faults: FaultPlan
        var isPaused = true
        var counts = RequestCounts()
        var late = LateRequests()
        /// Ends the wait of each late request.
        var waits: [LateRequests.ID: AsyncStream<Never>.Continuation] = [:]
        var killCue = KillCue()
        var listeners: [BrokerAddress: BrokerAddress] = [:]
        var problems: Set<String> = []

        mutating func forward(_ ids: [LateRequests.ID]) {
            for id in ids { waits.removeValue(forKey: id)?.finish() }
        }

        /// Whether requests of a transactional id have to wait: for a late one to arrive, or for its owner to be killed.
        func isHeldUp(_ id: String) -> Bool { late.isUnderWay(for: id) || killCue.isHolding(id, at: .now) }
    }

    private let state: Mutex<State>

    /// How long a request waits for late ones that have to arrive before it.
    private let longestHold: Duration
    /// How long to wait for the response to a late request.
    private static let responseTimeout = TimeAmount.seconds(5)

    /// The kinds of requests that may get a fault.
    package static let kinds = Set(FaultPlan.shares.keys)

    /// A proxy that injects no faults before ``resumeFaults()``. The rate is the percentage of requests of a transaction that get a
    /// fault, if they are of one of these kinds; frequent and other requests get fewer.
    package init(
        rate: Double, kinds: Set<ApiKey> = kinds, random: any RandomNumberGenerator & Sendable, longestHold: Duration = .seconds(1)
    ) {
        self.longestHold = longestHold
        state = Mutex(State(faults: FaultPlan(rate: rate, kinds: kinds, random: random)))
    }

    /// Opens listeners in front of brokers, and blocks until they are open.
    ///
    /// - Parameter brokers: `host:port` of all brokers, as clients and brokers name them, separated by commas.
    /// - Returns: the listeners, written like the brokers; nil if `brokers` is not such a list, or if no port is free.
    package func listen(inFrontOf brokers: String) -> String? {
        guard let brokers = BrokerAddress.list(brokers), let listeners = try? brokers.map(listener) else { return nil }
        state.withLock { $0.listeners = Dictionary(zip(brokers, listeners)) { first, _ in first } }
        return listeners.map(\.description).joined(separator: ",")
    }

    /// Stops injecting faults. Requests that were held back so far still arrive late.
    package func pauseFaults() { state.withLock { $0.isPaused = true } }

    /// Injects faults again.
    package func resumeFaults() { state.withLock { $0.isPaused = false } }

    /// Waits for a late request that harms a transaction. The next transaction often repairs the harm, so killing the client is
    /// worst right after it. ``harmedTransactionalID`` then names the client, which is held up for half a second.
    package func awaitHarm() { state.withLock { $0.killCue = KillCue(isArmed: true) } }

    /// The transactional id of the client that was harmed and is held up.
    package var harmedTransactionalID: String? { state.withLock { $0.killCue.transactionalID } }

    /// Stops waiting for harm, and releases the client that was harmed.
    package func endHarm() { state.withLock { $0.killCue = KillCue() } }

    /// The faults by kind of request, as rows of cells.
    package var faultTable: [[String]] { state.withLock { $0.counts.table } }

    /// A line about the effects of late requests, which shows whether the run proves anything.
    package var power: String { state.withLock { $0.late.power.line } }

    /// Problems of the proxy itself.
    package var problems: [String] { state.withLock { $0.problems.sorted() } }
}

// MARK: - Connections

typealias FrameChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

extension FaultyNetwork {
    private func listener(inFrontOf broker: BrokerAddress) throws -> BrokerAddress {
        let listener = try ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    let client = try FrameDecoder.frames(of: channel)
                    Task { await ClientConnection(client, to: broker, network: self).run() }
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        return BrokerAddress(host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
    }

    func connect(to broker: BrokerAddress) async throws -> FrameChannel {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1).connectTimeout(.seconds(5))
            .connect(host: broker.host, port: broker.port) { channel in
                channel.eventLoop.makeCompletedFuture { try FrameDecoder.frames(of: channel) }
            }
    }
}

// MARK: - Requests and responses

extension FaultyNetwork {
    /// Chooses the fault of a request.
    func fault(for request: Request) -> Fault {
        state.withLock { state in
            // A Produce without a transactional id is not part of a transaction.
            let isSpared = state.isPaused || ApiKey.transactional.contains(request.key) && request.transactionalID == nil
            var fault = isSpared ? .none : state.faults.fault(for: request.key)
            if state.late.isFull {
                if case .holdBack = fault { fault = .cut }
                if case .replay = fault { fault = .none }
            }
            state.counts.add(fault, to: request.key)
            return fault
        }
    }

    /// Returns once the late requests that have to arrive before this one have arrived.
    func clear(_ request: Request) async {
        let mustWait = state.withLock { state in
            let released = state.late.forwarding(request)
            state.forward(released)
            return !released.isEmpty || request.key == .endTxn
                || request.transactionalID.map { state.killCue.isHolding($0, at: .now) } ?? false
        }
        guard mustWait, let id = request.transactionalID else { return }
        let deadline = ContinuousClock.now + longestHold
        while .now < deadline, state.withLock({ $0.isHeldUp(id) }) { try? await Task.sleep(for: .milliseconds(1)) }
    }

    /// Records a response to a client.
    func answered(_ request: Request, _ frame: ByteBuffer) {
        guard let response = Response(frame: frame, to: request) else { return }
        state.withLock { $0.forward($0.late.answered(request, response)) }
    }

    /// A response that is safe for the client, see ``Request/rewritten(_:_:)``.
    func rewritten(_ frame: ByteBuffer, to request: Request) throws(WireError) -> ByteBuffer {
        do throws(WireError) {
            return try request.rewritten(frame, state.withLock(\.listeners))
        } catch {
            let problem = "an answer to \(request.key.name) of version \(request.version) cannot be passed on"
            state.withLock { _ = $0.problems.insert(problem) }
            throw error
        }
    }

    /// Forwards a copy of a request at a later moment.
    func forward(_ request: Request, _ frame: ByteBuffer, to broker: BrokerAddress, at moment: Moment) {
        let (wait, end) = AsyncStream.makeStream(of: Never.self)
        let id = state.withLock { state in
            let id = state.late.keep(request, until: moment)
            state.waits[id] = end
            return id
        }
        Task {
            try? await Task.sleep(for: moment.wait)
            state.withLock { if $0.late.release(id) { $0.forward([id]) } }
        }
        Task {
            let response = try? await send(frame, to: broker, after: wait)
            state.withLock { state in
                state.waits[id] = nil
                let harmed = state.late.ended(id, response.flatMap { Response(frame: $0, to: request) })
                if let harmed { state.killCue.signal(harmed: harmed, at: .now) }
            }
        }
    }

    /// Sends a request on a connection of its own, which is opened in advance so that the moment is not missed. Returns the
    /// response, if there is one in time.
    private func send(_ frame: ByteBuffer, to broker: BrokerAddress, after wait: AsyncStream<Never>) async throws -> ByteBuffer? {
        let connection = try await connect(to: broker)
        return try await connection.executeThenClose { responses, requests in
            for await _ in wait {}
            connection.channel.eventLoop.scheduleTask(in: Self.responseTimeout) { connection.channel.close(promise: nil) }
            try await requests.write(frame)
            return try await responses.first { _ in true }
        }
    }
}

/// Waits for the moment to kill a client.
struct KillCue {
    /// How long the client is held up.
    static let pause = Duration.milliseconds(500)

    private(set) var transactionalID: String?
    private var isArmed: Bool
    private var end: ContinuousClock.Instant?

    init(isArmed: Bool = false) { self.isArmed = isArmed }

    /// Notes that a late request harmed a transaction. Only the first one counts.
    mutating func signal(harmed transactionalID: String, at now: ContinuousClock.Instant) {
        guard isArmed, self.transactionalID == nil else { return }
        (self.transactionalID, end) = (transactionalID, now + Self.pause)
    }

    func isHolding(_ transactionalID: String, at now: ContinuousClock.Instant) -> Bool {
        self.transactionalID == transactionalID && end.map { now < $0 } ?? false
    }
}
