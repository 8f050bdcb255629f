import CBareLoop
import Foundation
import JuiceClient

/// A process that is measured. It does not outlive this one, however that ends (on Linux), nor the thread that made it.
final class BenchChild {
    let name: String
    let processID: Int32
    private let readyFile: String?
    private let log: String
    /// Its exit status, negative the signal that ended it; nil as long as it runs.
    private var status: Int32?

    /// Starts this very executable with other arguments.
    ///
    /// - Parameters:
    ///   - readyFile: the file that it is to make once it is ready.
    ///   - log: the file that gets what it writes.
    init(
        _ name: String,
        executable: String,
        arguments: [String],
        readyFile: String? = nil,
        log: String
    ) throws(Failure) {
        self.name = name
        self.readyFile = readyFile
        self.log = log
        var strings = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        processID = bare_spawn(executable, &strings, log)
        guard processID > 0 else {
            throw Failure(.software, "cannot run \(executable): \(String(cString: strerror(errno)))")
        }
    }

    deinit { kill() }

    /// Whether it still runs.
    var isRunning: Bool {
        reap(waiting: false)
        return status == nil
    }

    /// Whether it says that it is ready.
    var isReady: Bool { readyFile.map { access($0, F_OK) == 0 } ?? true }

    /// The processor time it has used so far; nil where this system does not tell.
    var processorTime: Duration? {
        let nanoseconds = bare_cpu_time(processID)
        return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
    }

    /// Its resident memory, in bytes; nil where this system does not tell.
    var residentBytes: Int? {
        let bytes = bare_resident_memory(processID)
        return bytes < 0 ? nil : Int(bytes)
    }

    /// What it has written.
    var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// - Throws: ``Failure`` with the end of its log when it has ended, whatever its status.
    func check() throws(Failure) {
        guard !isRunning else { return }
        throw failure("ended by itself with status \(status ?? 0)")
    }

    /// Something about this process that ends the measurement, with the last lines it wrote.
    func failure(_ what: String) -> Failure {
        let lines = output.split(separator: "\n").suffix(15).map { String($0).printable }
        return Failure(
            .software,
            "\(name) \(what)",
            hint: lines.isEmpty ? "it wrote no log" : "its log ends:\n" + lines.joined(separator: "\n")
        )
    }

    /// Waits for its end.
    ///
    /// - Returns: its exit status, negative for a signal; nil when it still runs.
    func status(within timeout: Duration) -> Int32? {
        let deadline = Deadline(after: timeout)
        while isRunning, !deadline.isOver { Pause.briefly() }
        return status
    }

    /// Asks it to end, and ends it when it does not.
    func stop() {
        guard isRunning else { return }
        Foundation.kill(processID, SIGTERM)
        if status(within: .seconds(10)) == nil { kill() }
    }

    private func kill() {
        guard isRunning else { return }
        Foundation.kill(processID, SIGKILL)
        reap(waiting: true)
    }

    private func reap(waiting: Bool) {
        guard status == nil else { return }
        var state: Int32 = 0
        guard waitpid(processID, &state, waiting ? 0 : WNOHANG) == processID else { return }
        let signal = state & 0x7F
        status = signal == 0 ? (state >> 8) & 0xFF : -signal
    }
}

/// Waiting between two looks at something that happens elsewhere.
enum Pause {
    /// A millisecond: for what is timed by it.
    static func briefly() { usleep(1_000) }

    /// 20 ms: for what is counted all along.
    static func betweenSamples() { usleep(20_000) }
}
