import JuiceMessages

/// Why a call on the log failed, and what to do next.
package struct LogError: Error, Equatable {
    package enum Remedy: Sendable, Equatable {
        /// Make the same call again.
        case retry
        /// The transaction failed or its outcome is unknown. Undo its changes, make new producers and read the journal.
        case startOver
        /// This process cannot recover. Stop and report why.
        case stop
    }

    /// What failed.
    package enum Subject: Sendable, Equatable {
        /// The call. Another one may succeed.
        case call
        /// A record for this partition: the log refused it for its contents, and would again.
        case record(Topic, partition: Int32)
        /// A record for this partition, refused for its time alone.
        case time(Topic, partition: Int32)
        /// The connection to a broker. What was sent over it is not the cause.
        case connection
        /// A setting of this process, which the brokers refuse.
        case setting
        /// A right, which this process lacks.
        case right

        /// Whether a topic that only the service writes to refused a time.
        var isClock: Bool { if case .time(let topic, _) = self { topic != .orders && topic != .restocks } else { false } }
    }

    package let remedy: Remedy
    package let message: String
    package let subject: Subject

    package init(_ remedy: Remedy, _ message: String, subject: Subject = .call) {
        self.remedy = remedy
        self.message = message
        self.subject = subject
    }
}
