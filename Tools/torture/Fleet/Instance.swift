import Foundation

/// One `juice serve`, across restarts.
final class Instance {
    let id: String
    private let arguments: [String]
    private let executable: String
    private let log: URL
    private let readyFile: URL
    private let stopTimeout: Duration
    private var child: Child?
    /// Where in the log the last start begins.
    private var logStart: UInt64 = 0
    private(set) var isFrozen = false

    /// - Parameter bootstrapServers: the addresses of the brokers, or of the proxy in front of them.
    init(id: String, group: String, workers: Int, bootstrapServers: String, plan: Plan, folder: URL) {
        self.id = id
        stopTimeout = plan.stopTimeout
        executable = plan.juice
        log = folder.appendingPathComponent("\(id).log")
        readyFile = folder.appendingPathComponent("\(id).ready")
        let memory =
            (plan.duplicateWindow.map { ["--duplicate-window", "\($0)"] } ?? [])
            + (plan.duplicateIds.map { ["--duplicate-ids", "\($0)"] } ?? [])
        arguments =
            [
                "serve", "--bootstrap-servers", bootstrapServers, "--topic-prefix", plan.prefix,
                "--group", group, "--instance-id", id, "--workers", "\(workers)",
                "--kafka-property", "session.timeout.ms=\(plan.session.milliseconds)",
                "--log-level", "debug", "--ready-file", readyFile.path,
            ] + memory
    }

    var isRunning: Bool { child?.isRunning ?? false }

    /// Whether it has restored its assigned partitions.
    var isReady: Bool { isRunning && FileManager.default.fileExists(atPath: readyFile.path) }

    /// Starts it. Its output is appended to that of earlier runs.
    func start() throws {
        logStart = (try? FileHandle(forReadingFrom: log).seekToEnd()) ?? 0
        child = try Child(executable, arguments, output: log.path)
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
    /// - Returns: its exit status, or the negated signal.
    func stop() throws -> Int32 {
        if isFrozen { thaw() }
        child?.send(SIGTERM)
        guard try wait(for: stopTimeout, until: { !isRunning }) else {
            throw TortureError("\(id) does not end on SIGTERM; its log is \(log.path)")
        }
        return collectStatus()
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
