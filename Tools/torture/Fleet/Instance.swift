import Foundation

/// One `juice serve`, through all its lives.
final class Instance {
    let id: String
    private let arguments: [String]
    private let executable: URL
    private let log: URL
    private let readyFile: URL
    private let stopTimeout: Duration
    private var child: Child?
    private(set) var isFrozen = false

    /// - Parameter bootstrapServers: where it finds the brokers, or the proxy in front of them.
    init(id: String, workers: Int, bootstrapServers: String, plan: Plan, folder: URL) {
        self.id = id
        stopTimeout = plan.stopTimeout
        executable = plan.juice
        log = folder.appendingPathComponent("\(id).log")
        readyFile = folder.appendingPathComponent("\(id).ready")
        let memory =
            (plan.duplicateWindow.map { ["--duplicate-window", "\($0)"] } ?? [])
            + (plan.duplicateIDs.map { ["--duplicate-ids", "\($0)"] } ?? [])
        arguments =
            [
                "serve", "--bootstrap-servers", bootstrapServers, "--topic-prefix", plan.prefix,
                "--group", plan.group, "--instance-id", id, "--workers", "\(workers)",
                "--kafka-property", "session.timeout.ms=\(Int(plan.session.seconds * 1_000))",
                "--log-level", "debug", "--ready-file", readyFile.path,
            ] + memory
    }

    var isRunning: Bool { child?.isRunning ?? false }

    /// Whether it has restored what it was assigned.
    var isReady: Bool { isRunning && FileManager.default.fileExists(atPath: readyFile.path) }

    /// Starts it; what it writes follows what it wrote in the lives before.
    func start() throws {
        child = try Child(executable.path, arguments, output: log.path)
        isFrozen = false
    }

    /// Whether it ended though nobody ended it.
    var hasFallen: Bool { child != nil && !isRunning }

    /// Ends it at once, as a power cut would. Returns when it is gone.
    func killAtOnce() {
        child?.killAtOnce()
        child = nil
        isFrozen = false
    }

    /// Asks it to finish what it does and waits until it is gone.
    ///
    /// - Returns: its exit status, negative for a signal.
    func stop() throws -> Int32 {
        if isFrozen { thaw() }
        child?.send(SIGTERM)
        guard try wait(for: stopTimeout, until: { !isRunning }) else {
            throw TortureError("\(id) does not end on SIGTERM; its log is \(log.path)")
        }
        return collectStatus()
    }

    /// How it ended, negative for a signal. It counts as never started from then on.
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
