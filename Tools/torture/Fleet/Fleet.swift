import Foundation
import Kafka

/// The instances of the service, and what the group gave to each.
final class Fleet {
    private(set) var instances: [Instance] = []
    private let plan: Plan
    private let folder: URL
    private let admin: Admin
    private let network: NetworkProxy?

    /// - Parameter network: the proxy that the instances are led through, if any.
    init(plan: Plan, folder: URL, admin: Admin, network: NetworkProxy?) {
        self.plan = plan
        self.network = network
        self.folder = folder
        self.admin = admin
    }

    /// An instance that was not there before, with one worker or two, to be started.
    func add() -> Instance {
        let number = instances.count + 1
        let instance = Instance(
            id: "juice-\(number)",
            workers: 1 + number % 2,
            bootstrapServers: network?.bootstrapServers ?? plan.bootstrapServers,
            plan: plan,
            folder: folder
        )
        instances.append(instance)
        return instance
    }

    var running: [Instance] { instances.filter { $0.isRunning && !$0.isFrozen } }

    /// Instances that were stopped, to be started again. Those that ended by themselves are not, until they were counted.
    var resting: [Instance] { instances.filter { !$0.isRunning && !$0.hasFallen } }

    /// The partitions each instance reads; nil while the group is sharing them out.
    func assignment() -> [String: Set<Int32>]? {
        guard let members = members() else { return nil }
        var assignment: [String: Set<Int32>] = [:]
        for (name, partitions) in members {
            // An instance has a member for each worker: `juice-1-0`, `juice-1-1`.
            guard let end = name.lastIndex(of: "-") else { continue }
            assignment[String(name[..<end]), default: []].formUnion(partitions)
        }
        return assignment
    }

    /// The partitions each member of the group reads, by its `group.instance.id`; nil while they are being shared out.
    func members() -> [String: Set<Int32>]? {
        guard let group = try? admin.describe(group: plan.group, timeout: .seconds(2)), group.isStable else {
            return nil
        }
        return Dictionary(
            group.members.map { ($0.instanceID ?? "", Set($0.partitions.map(\.partition))) }
        ) { $0.union($1) }
    }

    /// Waits until the group is stable and those who run, the newcomer among them and nobody else, read all partitions.
    func settle(with newcomer: Instance? = nil, within timeout: Duration) throws -> [String: Set<Int32>]? {
        var settled: [String: Set<Int32>]?
        try wait(for: timeout, through: network) {
            guard let assignment = assignment() else { return false }
            let names = Set(running.map(\.id))
            let count = assignment.values.reduce(0) { $0 + $1.count }
            let isSettled =
                names.isSuperset(of: assignment.keys) && count == plan.partitions
                && newcomer.map { assignment[$0.id] != nil } ?? true
            if isSettled { settled = assignment }
            return isSettled
        }
        return settled
    }

    /// Instances that ended though nobody ended them. They count as resting from then on.
    func collectFallen() -> [String] {
        instances.filter(\.hasFallen).map { "\($0.id) ended by itself with status \($0.collectStatus())" }
    }

    /// Ends all of them, gracefully if there is time for that.
    ///
    /// - Returns: which of them ended otherwise than they should.
    func stopAll() throws -> [String] {
        var problems: [String] = []
        for instance in instances where instance.isRunning {
            let status = try instance.stop()
            if status != 0 { problems.append("\(instance.id) ended with status \(status) on SIGTERM") }
        }
        return problems
    }

    func killAll() {
        for instance in instances { instance.killAtOnce() }
    }
}
