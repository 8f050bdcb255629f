import Kafka
import Synchronization

/// One generation of the service's Kafka clients, from the check of the topics to the end of its workers. If it ends on its own,
/// another one follows in the same process: a fault that new clients can cure should not need a supervisor.
final class ClientGeneration: Sendable {
    /// Whether the process had no clients before.
    let isFirst: Bool
    /// How long a coordinator may be silent while brokers answer.
    let patience: Duration
    /// How long to wait before the first request.
    let pause: Duration
    /// Requested when its threads must end, because the service stops or new clients take over.
    let end = StopSignal()
    private let outcome = Mutex((reason: String?.none, workingSince: ContinuousClock.Instant?.none))

    init(isFirst: Bool, patience: Duration, pause: Duration) {
        (self.isFirst, self.patience, self.pause) = (isFirst, patience, pause)
    }

    /// Why new clients take over; nil if none do.
    var reason: String? { outcome.withLock(\.reason) }
    /// When the service first became ready with it; nil if it never did.
    var workingSince: ContinuousClock.Instant? { outcome.withLock(\.workingSince) }

    func works() { outcome.withLock { $0.workingSince = $0.workingSince ?? .now } }

    /// Ends it for this reason, so that new clients take over.
    func renew(_ reason: String) {
        outcome.withLock { $0.reason = $0.reason ?? reason }
        end.request()
    }
}

/// How long to wait for a missing right. Brokers load their ACLs some time after they start, and a right that is being replaced by
/// another one is missing for a moment.
package struct DenialPatience {
    private let longest: Duration
    private var since, last: ContinuousClock.Instant?
    private var denials = 0

    /// After this long without a denial, the service had the right: new clients meet a denial sooner.
    private static let grantedAfter = Duration.seconds(20)
    /// The same for a service that is ready, and therefore does everything that it ever does.
    static let grantedOnceReady = Duration.seconds(3)

    static let firstPause = Duration.milliseconds(500)

    package init(_ longest: Duration = .seconds(60)) { self.longest = longest }

    /// The right was there after the last denial.
    mutating func granted() { last = nil }

    /// A right was found missing.
    ///
    /// - Returns: the pause before the next try; nil if the right has been missing for too long.
    package mutating func pause(at now: ContinuousClock.Instant = .now) -> Duration? {
        if last.map({ now - $0 > Self.grantedAfter }) ?? true { (since, denials) = (now, 0) }
        (last, denials) = (now, denials + 1)
        guard let since, now - since < longest else { return nil }
        return min(Self.firstPause * (1 << min(denials - 1, 3)), .seconds(4))
    }
}

extension ServiceHealth.Silence {
    /// Whether new clients would get answers where the worker's do not.
    ///
    /// If a coordinator moves under the same broker id, librdkafka 2.0.2 keeps asking its former address, and reports no error. A
    /// worker whose calls are not answered may have such a coordinator, or another such broker. A worker that waits for partitions
    /// has one only if a coordinator that answers says that the group lacks this member: a rebalance may take long.
    func isCured(byClientsOf configuration: ServiceConfiguration, hooks: ClientHooks) -> Bool {
        guard call == nil else { return true }
        guard configuration.capabilities.managesTopics,
            let admin = try? Admin(configuration: configuration.client, hooks: hooks),
            let group = try? admin.describe(group: configuration.group, timeout: .seconds(2))
        else { return false }
        let member = configuration.groupConsumer(worker: worker)["group.instance.id"]
        return !group.members.contains { $0.instanceID == member }
    }
}
