import NIOCore
import NIOPosix

/// A proxy between the instances and the brokers that injects faults into single requests, by their kind.
///
/// Each broker has a listener on the loopback interface. Responses that name brokers are rewritten to name the listeners, so that
/// clients that bootstrap through the proxy reach all brokers through it.
final class NetworkProxy: Sendable {
    /// The bootstrap servers for the instances.
    let bootstrapServers: String

    private let group: MultiThreadedEventLoopGroup
    private let switchboard: NIOLoopBound<Switchboard>
    private let killCue = KillCue()

    private var loop: any EventLoop { switchboard.eventLoop }

    /// Creates a proxy that injects no faults before ``resumeFaults()``.
    init(plan: Plan) throws {
        guard let brokers = BrokerAddress.list(plan.bootstrapServers) else {
            throw TortureError("\(plan.bootstrapServers) is no list of host:port")
        }
        let seed = plan.seed &* 13 &+ 5
        let faults = FaultPlan(rate: plan.networkRate, kinds: try plan.faultyKinds, seed: seed)
        // One thread, so that all events of the proxy are ordered.
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (loop, killCue) = (group.next(), killCue)
        switchboard = try loop.submit { NIOLoopBound(Switchboard(faults: faults, killCue: killCue, loop: loop), eventLoop: loop) }
            .wait()
        let bound = switchboard
        let listeners = try brokers.map { broker in
            let promise = loop.makePromise(of: BrokerAddress?.self)
            loop.execute { bound.value.listen(for: broker) { _ in promise.succeed(bound.value.listener(for: broker)) } }
            guard let listener = try promise.futureResult.wait() else { throw TortureError("no port for the proxy") }
            return listener
        }
        self.bootstrapServers = listeners.map(\.description).joined(separator: ",")
    }

    /// Stops injecting faults. Requests that were held back so far still arrive late.
    func pauseFaults() { setCalm(true) }

    /// Injects faults again.
    func resumeFaults() { setCalm(false) }

    private func setCalm(_ isCalm: Bool) {
        loop.execute { [switchboard] in switchboard.value.isCalm = isCalm }
    }

    /// The injected faults and their effects, as lines.
    func summary() throws -> [String] {
        try loop.submit { [switchboard] in
            let switchboard = switchboard.value
            return switchboard.counts.lines + [switchboard.power.line]
        }.wait()
    }

    /// Problems of the proxy itself.
    func problems() throws -> [String] {
        try loop.submit { [switchboard] in switchboard.value.problems.sorted() }.wait()
    }

    func close() { try? group.syncShutdownGracefully() }

    /// Waits until killing an instance is most harmful: when a late request has just taken effect in one of its transactions.
    ///
    /// - Returns: the id of the instance; nil if none is harmed in time.
    func instanceAtRisk(within timeout: Duration) throws -> String? {
        killCue.arm()
        guard try wait(for: timeout, until: { killCue.instance != nil }) else {
            killCue.disarm()
            return nil
        }
        return killCue.instance
    }

    /// Releases the instance, after it was killed or if it should not be.
    func endRisk() { killCue.disarm() }
}
