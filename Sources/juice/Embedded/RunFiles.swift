import Foundation

/// The directory of this user's run files: one for each process with an embedded broker.
///
/// A file counts for as long as its process holds a lock on it. The system lets go of that lock however the process
/// ends, and unlike a process id it is never given to somebody else.
struct RunFiles: Sendable {
    let directory: String

    /// In the user's own runtime directory, or else in the directory for temporary files.
    static func ofThisUser(environment: [String: String] = ProcessInfo.processInfo.environment) -> RunFiles {
        if let runtime = environment["XDG_RUNTIME_DIR"], !runtime.isEmpty {
            return RunFiles(directory: runtime + "/juice-maker-\(getuid())")
        }
        let temporary = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        return RunFiles(directory: temporary + "/juice-maker-\(getuid())")
    }

    /// Announces this process. The announcement ends with the value that is returned.
    ///
    /// - Throws: why the file could not be written.
    func announce(_ file: RunFile) throws -> Announcement {
        mkdir(directory, 0o700)
        guard isTrustworthy else { throw POSIXError(.EPERM) }
        let path = "\(directory)/\(file.processID).json"
        let unfinished = path + ".new"
        let descriptor = open(unfinished, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.lastError }
        // Locked before it gets its name, so that nobody can find it unlocked and take it for a dead one.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw Self.lastError
        }
        do {
            let data = try JSONEncoder().encode(file)
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
            try handle.write(contentsOf: data)
            guard rename(unfinished, path) == 0 else { throw Self.lastError }
        } catch {
            close(descriptor)
            throw error
        }
        return Announcement(path: path, descriptor: descriptor)
    }

    /// The processes that still run, newest first. Files of those that do not are removed on the way.
    func live() -> [RunFile] {
        guard isTrustworthy, let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
        else {
            return []
        }
        let live = names.filter { $0.hasSuffix(".json") }.compactMap { readIfLive("\(directory)/\($0)") }
        return live.sorted { $0.time > $1.time }.map(\.file)
    }

    /// Whether the directory is this user's and nobody else's. In a directory for everybody's temporary files,
    /// somebody else could have made it, to have our orders sent to a broker of theirs.
    private var isTrustworthy: Bool {
        var status = stat()
        guard lstat(directory, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == getuid() && status.st_mode & 0o077 == 0
    }

    private func readIfLive(_ path: String) -> (file: RunFile, time: Double)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
            unlink(path)
            return nil
        }
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let time = attributes[.modificationDate] as? Date,
            let data = FileManager.default.contents(atPath: path),
            let file = try? JSONDecoder().decode(RunFile.self, from: data)
        else { return nil }
        return (file, time.timeIntervalSince1970)
    }

    private static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    /// A run file of this process, there for as long as the value is.
    struct Announcement: ~Copyable {
        fileprivate let path: String
        fileprivate let descriptor: Int32

        deinit {
            unlink(path)
            close(descriptor)
        }
    }
}
