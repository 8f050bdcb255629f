import NIOCore
import NIOPosix

/// The shared state of all connections: listeners, faults and late requests. Use it on its event loop.
final class Switchboard {
    let loop: any EventLoop
    /// Whether to inject no new faults. Late requests are forwarded all the same.
    var isCalm = true
    private(set) var counts = RequestCounts()
    private(set) var problems: Set<String> = []

    private var faults: FaultPlan
    private var late = LateRequests()
    private var copies: [LateRequests.ID: LateCopy] = [:]
    private var listeners: [BrokerAddress: BrokerAddress] = [:]
    private var opening: [BrokerAddress: [(Bool) -> Void]] = [:]
    /// Requests that wait until the late requests of their transactional id have arrived.
    private var gates: [Gate] = []
    private let killCue: KillCue
    private let start = ContinuousClock.now

    private struct Gate {
        let transactionalID: String
        let deadline: Duration
        let body: () -> Void
    }

    /// A late request and its connection, which is opened in advance so that the moment is not missed.
    private struct LateCopy {
        let request: Request
        let frame: ByteBuffer
        let connection: BrokerConnection
        var isWanted = false
        var deadline: Duration?
    }

    private static let mostWait = Duration.seconds(1)
    private static let answerTimeout = Duration.seconds(5)

    init(faults: FaultPlan, killCue: KillCue, loop: any EventLoop) {
        self.faults = faults
        self.killCue = killCue
        self.loop = loop
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { _ in bound.value.tick() }
    }

    private var now: Duration { ContinuousClock.now - start }

    var power: NetworkPower { late.power }

    func count(_ outcome: RequestOutcome, of request: Request) { counts.add(outcome, of: request.key) }

    func report(problem: String) { problems.insert(problem) }

    func after(_ delay: Duration, _ body: @escaping () -> Void) {
        loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { body() }
    }

    private func tick() {
        send(late.due(at: now))
        for (id, copy) in copies where copy.deadline.map({ $0 < now }) ?? false { end(id, nil) }
        openGates()
    }
}

// MARK: - Listeners

extension Switchboard {
    /// The listener in front of a broker.
    func listener(for broker: BrokerAddress) -> BrokerAddress? { listeners[broker] }

    /// Opens a listener in front of a broker, and calls `body` with whether that succeeded.
    func listen(for broker: BrokerAddress, then body: @escaping (Bool) -> Void) {
        if listeners[broker] != nil { return body(true) }
        opening[broker, default: []].append(body)
        guard opening[broker]?.count == 1 else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.deliver(to: ClientLink(client: client, to: broker, switchboard: bound.value))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .whenComplete { result in
                let port = (try? result.get())?.localAddress?.port
                bound.value.listens(port.map { BrokerAddress(host: "127.0.0.1", port: $0) }, for: broker)
            }
    }

    private func listens(_ listener: BrokerAddress?, for broker: BrokerAddress) {
        listeners[broker] = listener
        if listener == nil { report(problem: "no port for a listener in front of \(broker)") }
        for body in opening.removeValue(forKey: broker) ?? [] { body(listener != nil) }
    }
}

// MARK: - Requests and answers

extension Switchboard {
    func fault(for request: Request) -> Fault {
        // A Produce without a transactional id does not belong to the service's transactions.
        if isCalm || ApiKey.transactional.contains(request.key) && request.transactionalID == nil { return .none }
        let fault = faults.fault(for: request.key)
        switch fault {
        case .holdBack where late.isFull: return .cut
        case .replay where late.isFull: return .none
        default: return fault
        }
    }

    /// Calls `body` once the late requests that have to arrive before this one have arrived.
    func clear(_ request: Request, then body: @escaping () -> Void) {
        let released = late.forwarding(request)
        send(released)
        guard let id = request.transactionalID, isHeldUp(id, at: now),
            !released.isEmpty || request.key == .endTxn || killCue.isHolding(id, at: now)
        else { return body() }
        gates.append(Gate(transactionalID: id, deadline: now + Self.mostWait, body: body))
    }

    /// Processes a response to a client.
    func answered(_ request: Request, _ frame: ByteBuffer) {
        if let answer = Answer(frame: frame, to: request.header) { send(late.answered(request, answer)) }
    }

    private func isHeldUp(_ id: String, at now: Duration) -> Bool {
        late.isUnderWay(for: id) || killCue.isHolding(id, at: now)
    }

    private func openGates() {
        let now = now
        let isOpen = { (gate: Gate) in gate.deadline <= now || !self.isHeldUp(gate.transactionalID, at: now) }
        let open = gates.filter(isOpen)
        gates.removeAll(where: isOpen)
        for gate in open { gate.body() }
    }
}

// MARK: - Late requests

extension Switchboard {
    /// Keeps a copy of a request, to forward it later.
    func keep(_ request: Request, _ frame: ByteBuffer, of broker: BrokerAddress, until moment: Moment) {
        let id = late.keep(request, until: moment, at: now)
        let connection = BrokerConnection(to: broker, on: loop)
        copies[id] = LateCopy(request: request, frame: frame, connection: connection)
        connection.onEvent { [self] event in
            switch event {
            case .connected: if copies[id]?.isWanted ?? false { connection.send(frame) }
            case .answer(let answer): end(id, Answer(frame: answer, to: request.header))
            case .writabilityChanged: break
            case .closed: if copies[id]?.isWanted ?? false { end(id, nil) }
            }
        }
    }

    private func send(_ ids: [LateRequests.ID]) {
        for id in ids {
            guard let copy = copies[id] else { continue }
            copies[id]?.isWanted = true
            copies[id]?.deadline = now + Self.answerTimeout
            if copy.connection.isConnected { copy.connection.send(copy.frame) }
        }
    }

    private func end(_ id: LateRequests.ID, _ answer: Answer?) {
        guard let copy = copies.removeValue(forKey: id) else { return }
        copy.connection.close()
        if late.ended(id, answer), let harmed = copy.request.transactionalID { killCue.signal(harmed: harmed, at: now) }
        openGates()
    }
}
