import Foundation
import JuiceClient

/// A file that is there exactly while the service is ready, for health checks that can look for a file.
struct ReadyFile: Sendable {
    let path: String

    /// Removes what an earlier process may have left, and finds out now rather than later whether it can be written.
    ///
    /// It tries that on a file beside it: whoever looks at this one must not see it before the service is ready.
    init(path: String) throws(Failure) {
        self.path = path
        let trial = path + ".trial"
        guard Self.remove(path), Self.create(trial), Self.remove(trial) else {
            throw Failure(.configuration, "the ready file \(path.printable) cannot be written")
        }
    }

    func note(isReady: Bool) {
        _ = isReady ? Self.create(path) : Self.remove(path)
    }

    private static func create(_ path: String) -> Bool {
        FileManager.default.createFile(atPath: path, contents: Data())
    }

    private static func remove(_ path: String) -> Bool {
        unlink(path) == 0 || errno == ENOENT
    }
}
