import CBareLoop
import Foundation
import JuiceClient

/// A process under measurement. On Linux it dies with the thread that created it, however this process ends.
final class BenchChild {
    let name: String
    let processID: Int32
    private let readyFile: String?
    private let log: String
    /// The exit status, or the negated signal that killed it; nil while it runs.
    private var status: Int32?

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - readyFile: the file that it creates once it is ready.
    ///   - log: the file for its output.
    /// - Throws: ``Failure`` if it cannot be started.
    init(_ name: String, executable: String, arguments: [String], readyFile: String? = nil, log: String) throws(Failure) {
        self.name = name
        self.readyFile = readyFile
        self.log = log
        var strings = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        processID = bare_spawn(executable, &strings, log)
        guard processID > 0 else { throw Failure(.software, "cannot run \(executable): \(String(cString: strerror(errno)))") }
    }

    deinit { kill() }

    /// Whether it is still running.
    var isRunning: Bool {
        reap(WNOHANG)
        return status == nil
    }

    /// Whether it has reported to be ready.
    var isReady: Bool { readyFile.map { access($0, F_OK) == 0 } ?? true }

    /// The processor time used so far; nil if the system does not report it.
    var processorTime: Duration? {
        let nanoseconds = bare_cpu_time(processID)
        return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
    }

    /// The resident memory, in bytes; nil if the system does not report it.
    var residentBytes: Int? {
        let bytes = bare_resident_memory(processID)
        return bytes < 0 ? nil : Int(bytes)
    }

    /// Its output so far.
    var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// Checks that it is still running.
    ///
    /// - Throws: ``Failure`` with the end of its log if it has ended, whatever its status.
    func check() throws(Failure) {
        guard !isRunning else { return }
        throw failure("ended by itself with status \(status ?? 0)")
    }

    /// A failure of this process, with the last lines of its output.
    func failure(_ what: String) -> Failure {
        let lines = output.split(separator: "\n").suffix(15).map { String($0).printable }
        return Failure(
            .software, "\(name) \(what)",
            hint: lines.isEmpty ? "it wrote no log" : "its log ends:\n" + lines.joined(separator: "\n"))
    }

    /// Waits until it ends.
    ///
    /// - Returns: its exit status, or the negated signal; nil if it is still running.
    func status(within timeout: Duration) -> Int32? {
        let deadline = Deadline(after: timeout)
        while isRunning, !deadline.isOver { Pause.briefly() }
        return status
    }

    /// Terminates it, and kills it if it does not end.
    func stop() {
        guard isRunning else { return }
        Foundation.kill(processID, SIGTERM)
        if status(within: .seconds(10)) == nil { kill() }
    }

    private func kill() {
        guard isRunning else { return }
        Foundation.kill(processID, SIGKILL)
        reap(0)
    }

    /// - Parameter options: those of `waitpid`.
    private func reap(_ options: Int32) {
        guard status == nil else { return }
        var state: Int32 = 0
        guard waitpid(processID, &state, options) == processID else { return }
        let signal = state & 0x7F
        status = signal == 0 ? (state >> 8) & 0xFF : -signal
    }
}

/// Pauses of polling loops.
enum Pause {
    /// 1 ms: for loops whose precision matters.
    static func briefly() { usleep(1_000) }

    /// 20 ms: for loops that only sample.
    static func betweenSamples() { usleep(20_000) }
}
