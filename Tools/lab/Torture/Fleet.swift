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

/// One `juice serve`, across restarts.
final class Instance {
    let id: String
    private let plan: Plan
    private let arguments: [String]
    private let log: URL
    private let workers: Int
    private var child: Child?
    /// Where in the log the last start begins.
    private var logStart: UInt64 = 0
    private(set) var isFrozen = false

    init(id: String, group: String, workers: Int, bootstrapServers: String, plan: Plan) {
        (self.id, self.plan, self.workers) = (id, plan, workers)
        log = plan.folder.appendingPathComponent("\(id).log")
        arguments =
            [
                "serve", "--bootstrap-servers", bootstrapServers, "--topic-prefix", plan.prefix,
                "--group", group, "--instance-id", id, "--workers", "\(workers)",
                "--kafka-property", "session.timeout.ms=\(plan.session.milliseconds)",
                "--log-level", "debug",
            ] + plan.windowArguments
            // Without it, a second group would be refused.
            + (group == plan.group ? [] : ["--take-over"])
    }

    var isRunning: Bool { child?.isRunning ?? false }

    /// Whether each worker has restored its partitions since the last start.
    var isReady: Bool {
        let lines = logged.filter { $0.contains(" ready: ") || $0.contains(" no partition to read") }
        return isRunning && Set(lines.map { $0.firstMatch(of: /worker=\d+/).map { String($0.0) } }).count == workers
    }

    /// Whether it ended by itself.
    var hasCrashed: Bool { child != nil && !isRunning }

    /// Starts it. Its output is appended to that of earlier runs.
    func start() throws {
        logStart = (try? FileHandle(forReadingFrom: log).seekToEnd()) ?? 0
        child = try Child(id, plan.juice, arguments, log: log.path)
        isFrozen = false
    }

    /// The lines that it has logged since its last start.
    var logged: [Substring] {
        guard let file = try? FileHandle(forReadingFrom: log), (try? file.seek(toOffset: logStart)) != nil,
            let data = try? file.readToEnd()
        else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// The partitions that it has reported as stopped since its last start.
    var stoppedPartitions: Set<Int32> { Self.stoppedPartitions(in: logged) }

    static func stoppedPartitions(in log: [Substring]) -> Set<Int32> {
        let lines = log.filter { $0.contains("critical partition stopped, its commands wait: ") }
        return Set(
            lines.compactMap { line in line.split(separator: " partition=").last.flatMap { Int32($0.prefix(while: \.isNumber)) } })
    }

    /// Kills it, like a power cut, and waits until it has ended.
    func killAtOnce() {
        child?.killAtOnce()
        child = nil
        isFrozen = false
    }

    /// Stops it gracefully and waits until it has ended. Returns a problem if its exit status is not zero.
    func stop() throws -> String? {
        if isFrozen { thaw() }
        child?.send(SIGTERM)
        guard try wait(for: plan.stopTimeout, until: { !isRunning }) else {
            throw ToolError("\(id) does not end on SIGTERM; its log is \(log.path)")
        }
        let status = collectStatus()
        return status == 0 ? nil : "\(id) ended with status \(status) on SIGTERM"
    }

    /// Returns its exit status, or the negated signal, and resets it to never started.
    func collectStatus() -> Int32 {
        defer { child = nil }
        return child?.status ?? 0
    }

    func freeze() {
        child?.send(SIGSTOP)
        isFrozen = true
    }

    func thaw() {
        child?.send(SIGCONT)
        isFrozen = false
    }
}
