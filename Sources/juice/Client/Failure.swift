import Foundation

/// Why a command failed, in one line, and what the user can do about it.
struct Failure: Error, Equatable {
    /// The exit status; values from 64 on are those of `sysexits.h`.
    enum Status: Int32 {
        /// The requested item does not exist.
        case notFound = 1
        case outOfStock = 2
        case rejected = 3
        case usage = 64
        /// No broker answers, or the service does not.
        case unavailable = 69
        case software = 70
        case output = 74
        /// A file or an address is still missing after a start has waited for it.
        case temporary = 75
        /// A setting, a file or the topics are wrong.
        case configuration = 78
    }

    let status: Status
    let message: String
    /// What to do next, if known; each line is printed indented.
    var hint: String?
    /// The exit status once a start has waited in vain for the cause to pass; nil if the cause cannot pass by itself.
    var overdue: Status?

    init(_ status: Status, _ message: String, hint: String? = nil, overdue: Status? = nil) {
        (self.status, self.message, self.hint, self.overdue) = (status, message.printable, hint, overdue)
    }

    /// The same failure, with one more line in its hint.
    func with(_ hint: String) -> Failure {
        Failure(status, message, hint: [self.hint, hint].compactMap(\.self).joined(separator: "\n"))
    }

    /// The text for standard error: `juice: …`, then the hint.
    var report: String {
        let lines = (hint ?? "").split(separator: "\n").map { "  \(String($0).printable)" }
        return (["juice: \(message)"] + lines).joined(separator: "\n") + "\n"
    }

    /// The bytes of a file that an option names. It may be a pipe, so that a program can provide secrets without storing them.
    static func bytes(of path: String, _ what: String, mayBeEmpty: Bool = false) throws(Failure) -> [UInt8] {
        try checkFile(path, "\(what) \(path)", mayBeEmpty: mayBeEmpty)
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() ?? Data() else {
            throw Failure(.configuration, "\(what) \(path) cannot be read")
        }
        return Array(data)
    }

    /// During a start, waits until a file can be read and, unless it may be empty, has been written.
    ///
    /// - Parameter what: how messages name the file.
    static func checkFile(_ path: String, _ what: String, mayBeEmpty: Bool = false) throws(Failure) {
        Patience.reads(path)
        try Patience.waiting { () throws(Failure) in
            guard access(path, R_OK) == 0 else {
                let code = errno
                // Programs that render a secret may set its owner and mode last.
                let overdue: Status? = [ENOENT: .temporary, EACCES: .configuration][code]
                throw Failure(.configuration, "\(what) cannot be read: \(String(cString: strerror(code)))", overdue: overdue)
            }
            var status = stat()
            if !mayBeEmpty, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
                throw Failure(.configuration, "\(what) is empty", overdue: .temporary)
            }
        }
    }
}
