import Foundation
import JuiceClient

/// A file that exists exactly while the service is ready, for health checks that can test for a file.
struct ReadyFile: Sendable {
    let path: String

    /// Removes a stale file, and checks that the file can be written.
    ///
    /// The check uses another file in the same directory, because a probe must not see this one before the service is ready.
    init(path: String) throws(Failure) {
        self.path = path
        let trial = path + ".trial"
        guard Self.remove(path), Self.create(trial), Self.remove(trial) else {
            throw Failure(.configuration, "the ready file \(path.printable) cannot be written")
        }
    }

    /// Creates the file: the service is ready.
    func create() { _ = Self.create(path) }

    /// Removes the file: the service is not ready any more.
    func remove() { _ = Self.remove(path) }

    private static func create(_ path: String) -> Bool {
        FileManager.default.createFile(atPath: path, contents: Data())
    }

    private static func remove(_ path: String) -> Bool { unlink(path) == 0 || errno == ENOENT }
}
