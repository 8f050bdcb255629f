import CLab
import Foundation
import Kafka

/// A child process, which does not get the terminal's Ctrl-C. On Linux it dies with the thread that created it, however this
/// process ends.
///
/// Foundation's `Process` is unsuitable: it considers a process running as long as any of its descendants runs, and a command
/// that restarts a broker leaves one behind.
package final class Child {
    private let name: String
    private let processID: Int32
    private let log: String
    private var end: Int32?

    /// Starts an executable and appends its output to a file. `name` appears in error messages.
    package init(_ name: String, _ executable: String, _ arguments: [String], log: String) throws {
        (self.name, self.log) = (name, log)
        var texts = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        processID = EmbeddedBroker.ports.withLock { process_spawn(executable, &texts, log) }
        guard processID > 0 else { throw ToolError("cannot run \(executable): \(String(cString: strerror(errno)))") }
    }

    deinit { killAtOnce() }

    /// Runs an executable, waits until it ends, and returns its exit status and output.
    package static func run(_ executable: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let log = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: log) }
        let child = try Child(executable, executable, arguments, log: log)
        try wait(for: .seconds(300), every: .milliseconds(1)) { !child.isRunning }
        guard let status = child.status else { throw ToolError("\(executable) \(arguments.joined(separator: " ")) does not end") }
        return (status, child.output)
    }

    /// The exit status, or the negated signal that killed it; nil while it runs.
    package var status: Int32? {
        var state: Int32 = 0
        if end == nil, waitpid(processID, &state, WNOHANG) == processID {
            let signal = state & 0x7F
            end = signal == 0 ? (state >> 8) & 0xFF : -signal
        }
        return end
    }

    package var isRunning: Bool { status == nil }

    /// The contents of its log.
    package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The processor time used so far; nil if the system does not report it.
    package var processorTime: Duration? { Self.processorTime(of: processID) }

    /// The same of any process.
    package static func processorTime(of process: Int32) -> Duration? {
        let nanoseconds = process_cpu_time(process)
        return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
    }

    /// The resident memory, in bytes; nil if the system does not report it.
    package var residentBytes: Double? {
        let bytes = process_resident_memory(processID)
        return bytes < 0 ? nil : Double(bytes)
    }

    /// Throws the end of its log if it has ended, whatever its status.
    package func check() throws {
        if let status { throw failure("ended by itself with status \(status)") }
    }

    /// A failure of this process, with the last lines of its log.
    package func failure(_ what: String) -> ToolError {
        let lines = output.split(separator: "\n").suffix(15).map { "  \($0)" }
        return ToolError(
            "\(name) \(what)\n  " + (lines.isEmpty ? "it wrote no log" : "its log ends:\n" + lines.joined(separator: "\n")))
    }

    package func send(_ signal: Int32) {
        if isRunning { kill(processID, signal) }
    }

    /// Terminates it, and kills it if it does not end in time.
    package func stop(within patience: Duration = .seconds(10)) {
        send(SIGTERM)
        let deadline = ContinuousClock.now + patience
        while isRunning, .now < deadline { usleep(1_000) }
        killAtOnce()
    }

    /// Kills it, like a power cut, and waits until it has ended.
    package func killAtOnce() {
        send(SIGKILL)
        while isRunning { usleep(1_000) }
    }
}
