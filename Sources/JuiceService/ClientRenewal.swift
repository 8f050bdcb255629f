import Kafka
import Synchronization

/// The life of one generation of the service's Kafka clients, from the check of the topics to the end of its workers. If it ends by
/// itself, another generation follows in the same process: whatever new clients can cure should not need a supervisor.
final class ClientGeneration: Sendable {
    /// Whether the process had no clients before.
    let isFirst: Bool
    /// How long a coordinator may be silent while brokers answer.
    let patience: Duration
    /// How long to wait before the first request.
    let pause: Duration
    /// Requested when its threads are to end: the service stops, or other clients take their place.
    let end = StopSignal()
    private let outcome = Mutex((reason: String?.none, workingSince: ContinuousClock.Instant?.none))

    init(isFirst: Bool, patience: Duration, pause: Duration) {
        (self.isFirst, self.patience, self.pause) = (isFirst, patience, pause)
    }

    /// Why other clients take its place; nil if they do not.
    var reason: String? { outcome.withLock(\.reason) }
    /// When the service was first ready with it; nil if it never was.
    var workingSince: ContinuousClock.Instant? { outcome.withLock(\.workingSince) }

    func works() { outcome.withLock { $0.workingSince = $0.workingSince ?? .now } }

    /// Ends it, so that new clients are made for this reason.
    func renew(_ reason: String) {
        outcome.withLock { $0.reason = $0.reason ?? reason }
        end.request()
    }
}

/// For how long a missing right is waited for. Brokers load their ACLs some time after they start, and a right that is replaced by
/// another one is missing for a moment.
package struct DenialPatience {
    private let longest: Duration
    private var since, last: ContinuousClock.Instant?
    private var denials = 0

    /// Whoever was not denied anything for longer than this had the right. New clients meet a denial sooner.
    private static let grantedAfter = Duration.seconds(20)
    /// The same of a service that is ready, and so does all that it does.
    static let grantedOnceReady = Duration.seconds(3)

    static let firstPause = Duration.milliseconds(500)

    package init(_ longest: Duration = .seconds(60)) { self.longest = longest }

    /// The right was there in between.
    mutating func granted() { last = nil }

    /// A right was found missing.
    ///
    /// - Returns: the pause before the next try; nil if it has been missing for too long.
    package mutating func pause(at now: ContinuousClock.Instant = .now) -> Duration? {
        if last.map({ now - $0 > Self.grantedAfter }) ?? true { (since, denials) = (now, 0) }
        (last, denials) = (now, denials + 1)
        guard let since, now - since < longest else { return nil }
        return min(Self.firstPause * (1 << min(denials - 1, 3)), .seconds(4))
    }
}

extension ServiceHealth.Silence {
    /// Whether new clients would be served where the worker's are not.
    ///
    /// librdkafka 2.0.2 goes on asking the former address of a coordinator that has moved under the same broker id, and reports no
    /// error. A worker whose calls are not answered may have such a coordinator or another broker of that kind. One that waits for
    /// partitions does only if its group has no such member, by the word of a coordinator that answers: a rebalance may be long.
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
