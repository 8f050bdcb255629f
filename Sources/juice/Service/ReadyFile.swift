import Foundation

/// A file that is there exactly while the service is ready, for health checks that can look for a file.
struct ReadyFile: Sendable {
    let path: String

    /// Removes what an earlier process may have left, and finds out now rather than later whether it can be written.
    init(path: String) throws(Failure) {
        self.path = path
        guard create(), remove() else {
            throw Failure(.configuration, "the ready file \(path.printable) cannot be written")
        }
    }

    func note(isReady: Bool) {
        _ = isReady ? create() : remove()
    }

    private func create() -> Bool {
        FileManager.default.createFile(atPath: path, contents: Data())
    }

    private func remove() -> Bool {
        unlink(path) == 0 || errno == ENOENT
    }
}
