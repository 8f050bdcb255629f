/// Whether the kiosk is in touch with Kafka, as one state that all pages show.
struct Link: Sendable, Equatable {
    /// What pages are told.
    enum State: String, Sendable, Encodable {
        /// No broker has answered yet.
        case connecting
        /// A broker answers, the stock is being read.
        case restoring
        /// All there is has been read, and what comes is shown as it comes.
        case live
        /// Brokers have answered before, and none does now.
        case lost
    }

    private var isReached: Bool?
    /// Whether the stock was read to its end.
    private(set) var isRestored = false
    /// Why there is no connection; nil while there is one, or nothing is known.
    private(set) var reason: String?

    /// What pages are told.
    var state: State {
        switch isReached {
        case nil: .connecting
        case false?: isRestored ? .lost : .connecting
        case true?: isRestored ? .live : .restoring
        }
    }

    /// Why orders are not taken and shown as they should be, in a sentence; nil when they are.
    var obstacle: String? {
        switch state {
        case .connecting, .lost: "no Kafka broker answers" + (reason.map { ": \($0)" } ?? " yet")
        case .restoring: "the stock is still being read"
        case .live: nil
        }
    }

    /// A broker answered.
    mutating func reached() {
        isReached = true
        reason = nil
    }

    /// No broker answered when one was asked.
    mutating func failed(_ reason: String) {
        isReached = false
        self.reason = reason
    }

    /// The stock was read to its end.
    mutating func restored() {
        isRestored = true
    }

    /// The reader begins anew.
    mutating func restarted() {
        isRestored = false
    }
}
