import CBench
import Foundation

/// A process under measurement. On Linux it dies with the thread that created it, however this process ends.
final class Child {
    private let name: String
    private let processID: Int32
    private let readyFile: String?
    private let log: String
    /// The exit status, or the negated signal that killed it; nil while it runs.
    private var status: Int32?

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - name: for people.
    ///   - readyFile: the file that it creates once it is ready.
    ///   - log: the file for its output.
    init(_ name: String, _ executable: String, _ arguments: [String], readyFile: String? = nil, log: String) throws {
        (self.name, self.readyFile, self.log) = (name, readyFile, log)
        var texts = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        processID = process_spawn(executable, &texts, log)
        guard processID > 0 else { throw BenchError("cannot run \(executable): \(String(cString: strerror(errno)))") }
    }

    deinit { stop(within: .zero) }

    var isReady: Bool { readyFile.map { access($0, F_OK) == 0 } ?? true }

    /// The processor time used so far; nil if the system does not report it.
    var processorTime: Duration? {
        let nanoseconds = process_cpu_time(processID)
        return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
    }

    /// The resident memory, in bytes; nil if the system does not report it.
    var residentBytes: Double? {
        let bytes = process_resident_memory(processID)
        return bytes < 0 ? nil : Double(bytes)
    }

    /// Its output so far.
    var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// Its exit status, or the negated signal that killed it; nil while it runs.
    func end() -> Int32? {
        var state: Int32 = 0
        if status == nil, waitpid(processID, &state, WNOHANG) == processID {
            let signal = state & 0x7F
            status = signal == 0 ? (state >> 8) & 0xFF : -signal
        }
        return status
    }

    /// Checks that it is still running.
    ///
    /// - Throws: ``BenchError`` with the end of its log if it has ended, whatever its status.
    func check() throws {
        if let status = end() { throw failure("ended by itself with status \(status)") }
    }

    /// A failure of this process, with the last lines of its output.
    func failure(_ what: String) -> BenchError {
        let lines = output.split(separator: "\n").suffix(15).map { "  \($0)" }
        return BenchError(
            "\(name) \(what)\n  " + (lines.isEmpty ? "it wrote no log" : "its log ends:\n" + lines.joined(separator: "\n")))
    }

    /// Terminates it, and kills it if it does not end in time.
    func stop(within patience: Duration = .seconds(10)) {
        guard end() == nil else { return }
        kill(processID, SIGTERM)
        let deadline = ContinuousClock.now + patience
        while end() == nil, .now < deadline { usleep(1_000) }
        guard end() == nil else { return }
        kill(processID, SIGKILL)
        while end() == nil { usleep(1_000) }
    }
}
