/// Why a command ended without doing its work: one line for people, and what they can do about it.
package struct Failure: Error, Equatable {
    /// What the process tells its caller by its exit status; from 64 on these are the numbers of `sysexits.h`.
    package enum Status: Int32 {
        /// The order was answered: a fruit is short.
        case outOfStock = 2
        /// The command was answered: nothing can come of it.
        case rejected = 3
        /// The command line cannot be understood.
        case usage = 64
        /// Nobody answers: no broker, or no service behind it.
        case unavailable = 69
        /// Something went wrong that no other status speaks of.
        case software = 70
        /// A setting, a file or the topics are not as they must be.
        case configuration = 78
    }

    package let status: Status
    package let message: String
    /// What to do next, where that is known; each line is printed indented.
    package var hint: String?

    package init(_ status: Status, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// The text on standard error: `juice: …`, then the hint.
    package var report: String {
        let lines = (hint ?? "").split(separator: "\n").map { "  \($0)" }
        return (["juice: \(message)"] + lines).joined(separator: "\n") + "\n"
    }
}
