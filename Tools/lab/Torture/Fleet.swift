import FaultyNetwork
import Foundation
import Kafka

/// The instances of the service, and the partitions assigned to them.
final class Fleet {
    private(set) var instances: [Instance] = []
    private let plan: Plan
    private let bootstrapServers: String
    private let cluster: Cluster
    private let network: FaultyNetwork?

    /// - Parameter bootstrapServers: the addresses of the brokers, or of the proxy in front of them.
    init(plan: Plan, bootstrapServers: String, cluster: Cluster, network: FaultyNetwork?) {
        (self.plan, self.bootstrapServers, self.cluster, self.network) = (plan, bootstrapServers, cluster, network)
    }

    /// Adds an instance with one or two workers. The caller has to start it.
    func add() -> Instance {
        let number = instances.count + 1
        let instance = instance("juice-\(number)", of: plan.group, workers: 1 + number % 2)
        instances.append(instance)
        return instance
    }

    /// An instance of any group, outside of this fleet.
    func instance(_ id: String, of group: String, workers: Int) -> Instance {
        Instance(id: id, group: group, workers: workers, bootstrapServers: bootstrapServers, plan: plan)
    }

    var running: [Instance] { instances.filter { $0.isRunning && !$0.isFrozen } }

    /// The stopped instances, except those that crashed and were not collected yet.
    var resting: [Instance] { instances.filter { !$0.isRunning && !$0.hasCrashed } }

    /// The partitions that each instance reads; nil during a rebalance.
    func assignment() -> [String: Set<Int32>]? {
        guard let group = cluster.group, group.state == "Stable" else { return nil }
        return group.members.reduce(into: [:]) { assignment, member in
            // An instance has a member for each worker: `juice-1-0`, `juice-1-1`.
            guard let name = member.instanceID, let end = name.lastIndex(of: "-") else { return }
            assignment[String(name[..<end]), default: []].formUnion(member.partitions.map(\.partition))
        }
    }

    /// Waits until the group is stable and exactly the running instances, including the newcomer, read all partitions.
    func settle(with newcomer: Instance? = nil, within timeout: Duration) throws -> [String: Set<Int32>]? {
        var settled: [String: Set<Int32>]?
        try wait(for: timeout, through: network) {
            guard let assignment = assignment() else { return false }
            let isSettled =
                Set(running.map(\.id)).isSuperset(of: assignment.keys)
                && assignment.values.reduce(0, { $0 + $1.count }) == plan.partitions
                && newcomer.map { assignment[$0.id] != nil } ?? true
            if isSettled { settled = assignment }
            return isSettled
        }
        return settled
    }

    /// Returns a problem for each instance that ended by itself. From then on it counts as resting.
    func collectCrashes() -> [String] {
        instances.filter(\.hasCrashed).map { "\($0.id) ended by itself with status \($0.collectStatus())" }
    }

    func killAll() {
        for instance in instances { instance.killAtOnce() }
    }
}
