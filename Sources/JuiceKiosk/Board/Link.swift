/// The kiosk's connection to Kafka, as one state that all pages show.
struct Link: Sendable, Equatable {
    /// The state that pages show.
    enum State: String, Sendable, Encodable {
        /// No broker has answered yet.
        case connecting
        /// A broker answers; the stock is being read.
        case restoring
        /// The stock has been read to its end; changes are shown as they arrive.
        case live
        /// Brokers answered before, but none does now.
        case lost
    }

    private var isReached: Bool?
    /// Whether the stock has been read to its end.
    private(set) var isRestored = false
    /// Why there is no connection; nil while there is one, or while the reason is unknown.
    private(set) var reason: String?

    /// The state that pages show.
    var state: State {
        switch isReached {
        case nil: .connecting
        case false?: isRestored ? .lost : .connecting
        case true?: isRestored ? .live : .restoring
        }
    }

    /// Why the kiosk is not ready, in a sentence; nil when it is.
    var obstacle: String? {
        switch state {
        case .connecting, .lost: "no Kafka broker answers" + (reason.map { ": \($0)" } ?? " yet")
        case .restoring: "the stock is still being read"
        case .live: nil
        }
    }

    /// Records that a broker answered.
    mutating func reached() {
        isReached = true
        reason = nil
    }

    /// Records that no broker answered.
    mutating func failed(_ reason: String) {
        isReached = false
        self.reason = reason
    }

    /// Records that the stock has been read to its end.
    mutating func restored() { isRestored = true }

    /// Records that the stock is being read from its start again.
    mutating func restarted() { isRestored = false }
}
