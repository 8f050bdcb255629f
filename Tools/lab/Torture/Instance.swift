import Foundation

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
