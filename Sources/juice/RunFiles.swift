import Foundation

/// The directory of this user's run files: one per process with an embedded broker, named for the process, with the address of the
/// broker.
///
/// A file is valid while its process holds a lock on it. The system releases the lock however the process ends, and unlike a
/// process id a lock cannot be reused by another process.
struct RunFiles: Sendable {
    let directory: String

    /// The directory in the user's runtime directory, or else in the directory for temporary files.
    static func ofThisUser(environment: [String: String] = ProcessInfo.processInfo.environment) -> RunFiles {
        let candidates = ["XDG_RUNTIME_DIR", "TMPDIR"].compactMap { environment[$0] }
        return RunFiles(directory: "\(candidates.first { !$0.isEmpty } ?? "/tmp")/juice-maker-\(getuid())")
    }

    /// Announces this process's broker for the lifetime of the returned value.
    ///
    /// - Throws: `POSIXError` if the file cannot be written.
    func announce(_ bootstrapServers: String) throws(POSIXError) -> Announcement {
        mkdir(directory, 0o700)
        guard isTrustworthy else { throw POSIXError(.EPERM) }
        let path = "\(directory)/\(getpid()).kafka"
        let unfinished = path + ".new"
        let descriptor = open(unfinished, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let announcement = Announcement(path: path, descriptor: descriptor)
        // Lock the file before it gets its final name; an unlocked file would count as stale.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, writeAll(Array(bootstrapServers.utf8), to: descriptor),
            rename(unfinished, path) == 0
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return announcement
    }

    /// The addresses of the running processes' brokers, newest first. Removes the files of processes that have ended.
    func live() -> [String] {
        guard isTrustworthy, let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return [] }
        let live = names.filter { $0.hasSuffix(".kafka") }.compactMap { readIfLive("\(directory)/\($0)") }
        return live.sorted { $0.writtenAt > $1.writtenAt }.map(\.bootstrapServers)
    }

    /// Whether this address is that of a running process's broker, perhaps by another name of this machine.
    func hasBroker(at address: String) -> Bool {
        guard let colon = address.lastIndex(of: ":") else { return false }
        let live = live().filter { $0.hasSuffix(address[colon...]) }
        return live.contains(address)
            || !live.isEmpty && Host(name: String(address[..<colon])).addresses.contains { live.contains($0 + address[colon...]) }
    }

    /// Whether only this user can access the directory. In a shared directory for temporary files another user could have created
    /// it, to redirect our orders to a broker of theirs.
    private var isTrustworthy: Bool {
        var status = stat()
        guard lstat(directory, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == getuid() && status.st_mode & 0o077 == 0
    }

    private func readIfLive(_ path: String) -> (writtenAt: Date, bootstrapServers: String)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
            unlink(path)
            return nil
        }
        let date = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        return FileManager.default.contents(atPath: path).map { (date ?? .distantPast, String(decoding: $0, as: UTF8.self)) }
    }

    /// The run file of this process, which is removed with this value.
    struct Announcement: ~Copyable {
        fileprivate let path: String
        fileprivate let descriptor: Int32

        deinit {
            unlink(path)
            close(descriptor)
        }
    }
}
