import FaultyNetwork
import Foundation
import Kafka

/// The instances of the service, and the partitions assigned to them.
final class Fleet {
    private(set) var instances: [Instance] = []
    private let plan: Plan
    private let bootstrapServers: String
    private let folder: URL
    private let cluster: Cluster
    private let network: FaultyNetwork?

    /// - Parameters:
    ///   - bootstrapServers: the addresses of the brokers, or of the proxy in front of them.
    ///   - network: the proxy, if there is one.
    init(plan: Plan, bootstrapServers: String, folder: URL, cluster: Cluster, network: FaultyNetwork?) {
        (self.plan, self.bootstrapServers, self.folder) = (plan, bootstrapServers, folder)
        (self.cluster, self.network) = (cluster, network)
    }

    /// Adds an instance with one or two workers. The caller has to start it.
    func add() -> Instance {
        let number = instances.count + 1
        let instance = instance("juice-\(number)", of: plan.group, workers: 1 + number % 2)
        instances.append(instance)
        return instance
    }

    /// An instance of any group, which is not of this fleet.
    func instance(_ id: String, of group: String, workers: Int) -> Instance {
        Instance(id: id, group: group, workers: workers, bootstrapServers: bootstrapServers, plan: plan, folder: folder)
    }

    var running: [Instance] { instances.filter { $0.isRunning && !$0.isFrozen } }

    /// The stopped instances, except those that crashed and were not collected yet.
    var resting: [Instance] { instances.filter { !$0.isRunning && !$0.hasCrashed } }

    /// The partitions that each instance reads; nil during a rebalance.
    func assignment() -> [String: Set<Int32>]? {
        guard let group = try? cluster.admin.describe(group: plan.group, timeout: .seconds(2)), group.isStable else { return nil }
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

    /// Stops all running instances gracefully.
    ///
    /// - Returns: a problem for each instance with a non-zero exit status.
    func stopAll() throws -> [String] { try instances.filter(\.isRunning).compactMap { try $0.stop() } }

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
    private let readyFile: URL
    private var child: Child?
    /// Where in the log the last start begins.
    private var logStart: UInt64 = 0
    private(set) var isFrozen = false

    /// - Parameter bootstrapServers: the addresses of the brokers, or of the proxy in front of them.
    init(id: String, group: String, workers: Int, bootstrapServers: String, plan: Plan, folder: URL) {
        (self.id, self.plan) = (id, plan)
        log = folder.appendingPathComponent("\(id).log")
        readyFile = folder.appendingPathComponent("\(id).ready")
        arguments =
            [
                "serve", "--bootstrap-servers", bootstrapServers, "--topic-prefix", plan.prefix,
                "--group", group, "--instance-id", id, "--workers", "\(workers)",
                "--kafka-property", "session.timeout.ms=\(plan.session.milliseconds)",
                "--log-level", "debug", "--ready-file", readyFile.path,
            ]
            + (plan.duplicateWindow.map { ["--duplicate-window", "\($0)"] } ?? [])
            + (plan.duplicateIds.map { ["--duplicate-ids", "\($0)"] } ?? [])
    }

    var isRunning: Bool { child?.isRunning ?? false }

    /// Whether it has restored its assigned partitions.
    var isReady: Bool { isRunning && FileManager.default.fileExists(atPath: readyFile.path) }

    /// Starts it. Its output is appended to that of earlier runs.
    func start() throws {
        logStart = (try? FileHandle(forReadingFrom: log).seekToEnd()) ?? 0
        child = try Child(plan.juice, arguments, output: log.path)
        isFrozen = false
    }

    /// What it has logged since its last start.
    var logged: [Substring] {
        guard let file = try? FileHandle(forReadingFrom: log), (try? file.seek(toOffset: logStart)) != nil,
            let data = try? file.readToEnd()
        else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// The partitions that it says it has stopped reading since its last start.
    var stoppedPartitions: Set<Int32> { Self.stoppedPartitions(in: logged) }

    static func stoppedPartitions(in log: [Substring]) -> Set<Int32> {
        let lines = log.filter { $0.contains("critical partition stopped, its commands wait: ") }
        return Set(
            lines.compactMap { line in line.split(separator: " partition=").last.flatMap { Int32($0.prefix(while: \.isNumber)) } })
    }

    /// Whether it ended by itself.
    var hasCrashed: Bool { child != nil && !isRunning }

    /// Kills it, like a power cut, and waits until it has ended.
    func killAtOnce() {
        child?.killAtOnce()
        child = nil
        isFrozen = false
    }

    /// Stops it gracefully and waits until it has ended.
    ///
    /// - Returns: a problem if its exit status is not zero.
    func stop() throws -> String? {
        if isFrozen { thaw() }
        child?.send(SIGTERM)
        guard try wait(for: plan.stopTimeout, until: { !isRunning }) else {
            throw TortureError("\(id) does not end on SIGTERM; its log is \(log.path)")
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

/// A child process.
///
/// Foundation's `Process` is unsuitable: it considers a process running as long as any of its descendants runs, and a command
/// that restarts a broker leaves one behind.
final class Child {
    private let pid: pid_t
    /// The exit status, or the negated signal that killed it; nil while it runs.
    private(set) var status: Int32?

    /// More file descriptors than this process ever has open.
    private static let mostDescriptors: Int32 = 4_096

    /// Starts an executable in a process group of its own, so that a Ctrl-C in the terminal does not reach it.
    ///
    /// - Parameter output: where standard output and standard error go, appended.
    init(_ executable: String, _ arguments: [String], output: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A connection inherited by the child would stay open after this process closes it.
        #if canImport(Darwin)
            let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            let flags = POSIX_SPAWN_SETPGROUP
            // Descriptors that are not open are ignored.
            for descriptor in (STDERR_FILENO + 1)..<min(getdtablesize(), Self.mostDescriptors) {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var strings = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var pid: pid_t = 0
        let error = posix_spawn(&pid, executable, &actions, &attributes, &strings, environ)
        guard error == 0 else { throw TortureError("cannot run \(executable): \(String(cString: strerror(error)))") }
        self.pid = pid
    }

    /// Runs an executable and waits until it ends.
    static func run(_ executable: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let child = try Child(executable, arguments, output: file.path)
        defer { child.killAtOnce() }
        guard try wait(for: .seconds(300), until: { !child.isRunning }), let status = child.status else {
            throw TortureError("\(executable) \(arguments.joined(separator: " ")) does not end")
        }
        return (status, (try? String(contentsOf: file, encoding: .utf8)) ?? "")
    }

    var isRunning: Bool {
        reap(WNOHANG)
        return status == nil
    }

    func send(_ signal: Int32) {
        if isRunning { kill(pid, signal) }
    }

    /// Kills it and waits until it has ended.
    func killAtOnce() {
        send(SIGKILL)
        reap(0)
    }

    private func reap(_ options: Int32) {
        guard status == nil else { return }
        var state: Int32 = 0
        guard waitpid(pid, &state, options) == pid else { return }
        let signal = state & 0x7F
        status = signal == 0 ? (state >> 8) & 0xFF : -signal
    }
}
