import Foundation

/// A child process.
///
/// Foundation's `Process` is unsuitable: it considers a process running as long as any of its descendants runs, and a command
/// that restarts a broker leaves one behind.
final class Child {
    let pid: pid_t
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

extension Child {
    /// Runs an executable and waits until it ends.
    ///
    /// - Returns: its exit status and its output.
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
}
