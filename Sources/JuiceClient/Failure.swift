/// Why a command failed: one line for people, and what they can do about it.
package struct Failure: Error, Equatable {
    /// The exit status; values from 64 on are those of `sysexits.h`.
    package enum Status: Int32 {
        /// The order was answered: out of stock.
        case outOfStock = 2
        /// The command was answered: rejected.
        case rejected = 3
        /// The command line is invalid.
        case usage = 64
        /// No broker answers, or no service behind it.
        case unavailable = 69
        /// Any other error.
        case software = 70
        /// A setting, a file or the topics are wrong.
        case configuration = 78
    }

    /// The exit status.
    package let status: Status
    /// What went wrong, in one line.
    package let message: String
    /// What to do next, if known; each line is printed indented.
    package var hint: String?

    /// Creates a failure.
    package init(_ status: Status, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// The text for standard error: `juice: …`, then the hint.
    package var report: String {
        let lines = (hint ?? "").split(separator: "\n").map { "  \($0)" }
        return (["juice: \(message)"] + lines).joined(separator: "\n") + "\n"
    }
}
