import NIOCore
import NIOPosix

/// What the command line says about the network.
struct NetworkPlan: Sendable {
    /// The percentage of transactional requests that something is done to.
    let rate: Double
    /// The only kinds that something is done to; nil for all.
    let kinds: Set<ApiKey>?
}

/// A proxy between the instances and the brokers that does bad things to single requests, by their kind.
///
/// Each broker has a listener on the loopback interface. Clients that are given those of the bootstrap servers are led through the
/// others too, because the proxy puts its listeners in place of brokers wherever an answer names one.
final class NetworkProxy: Sendable {
    /// What instances take for the brokers.
    let bootstrapServers: String

    private let group: MultiThreadedEventLoopGroup
    private let switchboard: NIOLoopBound<Switchboard>
    private let killCue = KillCue()

    private var loop: any EventLoop { switchboard.eventLoop }

    /// A proxy that is calm until it is told otherwise.
    init(plan: NetworkPlan, bootstrapServers: String, seed: UInt64) throws {
        guard let brokers = BrokerAddress.list(bootstrapServers) else {
            throw TortureError("\(bootstrapServers) is no list of host:port")
        }
        // One thread, so that what the proxy knows has an order.
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (loop, killCue) = (group.next(), killCue)
        switchboard = try loop.submit {
            let faults = FaultPlan(rate: plan.rate, kinds: plan.kinds, seed: seed &* 13 &+ 5)
            let switchboard = Switchboard(faults: faults, killCue: killCue, loop: loop)
            return NIOLoopBound(switchboard, eventLoop: loop)
        }.wait()
        let bound = switchboard
        let listeners = try brokers.map { broker in
            let promise = loop.makePromise(of: BrokerAddress?.self)
            loop.execute {
                bound.value.listen(for: broker) { _ in promise.succeed(bound.value.listener(for: broker)) }
            }
            guard let listener = try promise.futureResult.wait() else {
                throw TortureError("no port for the proxy")
            }
            return listener
        }
        self.bootstrapServers = listeners.map(\.description).joined(separator: ",")
    }

    /// Whether nothing bad is done to requests. What has been held back so far comes late all the same.
    func setCalm(_ isCalm: Bool) {
        loop.execute { [switchboard] in switchboard.value.isCalm = isCalm }
    }

    /// What was done, in lines, and what came of it.
    func summary() throws -> [String] {
        try loop.submit { [switchboard] in
            let switchboard = switchboard.value
            return switchboard.counts.lines + [switchboard.power.line]
        }.wait()
    }

    /// What the proxy could not do.
    func problems() throws -> [String] {
        try loop.submit { [switchboard] in switchboard.value.problems.sorted() }.wait()
    }

    func close() { try? group.syncShutdownGracefully() }

    /// Waits until the death of an instance would hurt most, because a late request has just been carried out in a transaction of its.
    ///
    /// - Returns: the name of the instance, as the service's transactional ids have it: `GROUP/INSTANCE/WORKER/TURN`.
    func instanceAtRisk(within timeout: Duration) throws -> String? {
        killCue.ask(true)
        guard try wait(for: timeout, until: { killCue.transactionalID != nil }) else {
            killCue.ask(false)
            return nil
        }
        let parts = killCue.transactionalID?.split(separator: "/") ?? []
        return parts.count == 4 ? String(parts[1]) : nil
    }

    /// The instance was killed, or is not to be.
    func endRisk() { killCue.ask(false) }
}
